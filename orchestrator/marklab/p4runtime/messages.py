# SPDX-License-Identifier: MIT OR Apache-2.0
"""The messages and the service of P4Runtime, as finsy generated them from P4Runtime's own files.

The package `p4runtime` supports only protobuf 3, whose backend is written in Python.
"""

from finsy.proto import p4d as p4data_pb2
from finsy.proto import p4i as p4info_pb2
from finsy.proto import p4r as p4runtime_pb2
from finsy.proto import p4r_grpc as p4runtime_pb2_grpc
from finsy.proto import p4t as p4types_pb2
from finsy.proto import rpc_code as code_pb2
from finsy.proto import rpc_status as status_pb2
from google.protobuf import json_format, text_format
from google.protobuf.message import Message

__all__ = [
    "Message",
    "code_pb2",
    "json_format",
    "p4data_pb2",
    "p4info_pb2",
    "p4runtime_pb2",
    "p4runtime_pb2_grpc",
    "p4types_pb2",
    "status_pb2",
    "text_format",
]
