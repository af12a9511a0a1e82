# SPDX-License-Identifier: MIT OR Apache-2.0
"""Refusals of the server: a canonical code, and a text with the object and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NoReturn

from google.protobuf import any_pb2
from grpc import StatusCode

from marklab.errors import MarklabError
from marklab.p4runtime.messages import p4runtime_pb2, status_pb2

# The key under which gRPC carries a serialized google.rpc.Status.
_DETAILS = "grpc-status-details-bin"


class Refusal(MarklabError):  # noqa: N818 - reads as what it is
    """A client's request is refused."""

    def __init__(self, code: StatusCode, message: str, remedy: str | None = None) -> None:
        super().__init__(message, remedy)
        self.code = code

    def __str__(self) -> str:
        """Message and remedy in one text, as clients show only one."""
        message = super().__str__()
        return f"{message}; {self.remedy}" if self.remedy else message

    @property
    def number(self) -> int:
        """The number of the code in google.rpc.Code."""
        return int(self.code.value[0])


# Refusals by what is wrong. Each takes a message and a remedy.

# The request is wrong whatever the state of the switch.
invalid = partial(Refusal, StatusCode.INVALID_ARGUMENT)
# A number or an index is too large.
out_of_range = partial(Refusal, StatusCode.OUT_OF_RANGE)
# The object that the request names does not exist.
absent = partial(Refusal, StatusCode.NOT_FOUND)
# The object that the request inserts already exists.
present = partial(Refusal, StatusCode.ALREADY_EXISTS)
# There is no room for the object that the request inserts.
full = partial(Refusal, StatusCode.RESOURCE_EXHAUSTED)
# The client, or any client, is not allowed to do this.
denied = partial(Refusal, StatusCode.PERMISSION_DENIED)
# The state of the switch does not allow this now.
untimely = partial(Refusal, StatusCode.FAILED_PRECONDITION)
# The specification has this feature, but the switch does not.
unsupported = partial(Refusal, StatusCode.UNIMPLEMENTED)


def error_of(refusal: Refusal | None) -> Any:
    """The status of one element of a batch (P4Runtime specification, section 12.3)."""
    if refusal is None:
        return p4runtime_pb2.Error(canonical_code=0)
    return p4runtime_pb2.Error(canonical_code=refusal.number, message=str(refusal))


def abort_batch(context: Any, what: str, outcomes: Sequence[Refusal | None]) -> NoReturn:
    """End a call that has refused elements, with a status for each element, in order."""
    failed = sum(outcome is not None for outcome in outcomes)
    message = f"{failed} of {len(outcomes)} {what} refused"
    status = status_pb2.Status(code=StatusCode.UNKNOWN.value[0], message=message)
    status.details.extend(_packed(error_of(outcome) for outcome in outcomes))
    context.set_trailing_metadata(((_DETAILS, status.SerializeToString()),))
    context.abort(StatusCode.UNKNOWN, message)
    raise AssertionError("abort raises")


def _packed(messages: Iterable[Any]) -> Iterable[Any]:
    for message in messages:
        packed = any_pb2.Any()
        packed.Pack(message)
        yield packed
