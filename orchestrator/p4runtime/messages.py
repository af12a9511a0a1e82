"""The messages of P4Runtime (package `p4runtime`).

The package's modules were generated for protobuf 3 and work with no later one: protobuf 4 refuses them, and where it
can be made not to, their maps are lists. Version 1.4.1 of the package is the last that may be installed beside protobuf
3.20; its messages have all that p4c fills in.
"""

from google.protobuf import json_format, text_format
from google.protobuf.message import Message
from p4.config.v1 import p4info_pb2, p4types_pb2
from p4.v1 import p4data_pb2, p4runtime_pb2

__all__ = ["Message", "json_format", "p4data_pb2", "p4info_pb2", "p4runtime_pb2", "p4types_pb2", "text_format"]
