"""What gRPC adds to HTTP/2: a length before each message, and a status after the last."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import IntEnum
from urllib.parse import unquote

from flexnode.errors import HostError
from flexnode.host.failures import Code, failure

_PREFIX = struct.Struct(">BI")


class Status(IntEnum):
    """How a call ended."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


_CODES = {
    Status.UNAVAILABLE: Code.RUNTIME_DOWN,
    Status.DEADLINE_EXCEEDED: Code.RUNTIME_TIMEOUT,
    Status.NOT_FOUND: Code.RUNTIME_NOT_FOUND,
    Status.UNIMPLEMENTED: Code.RUNTIME_UNKNOWN_CALL,
}


def frame(message: bytes) -> bytes:
    """One uncompressed message as it travels."""
    return _PREFIX.pack(0, len(message)) + message


def unframe(data: bytes) -> bytes:
    """The one message that a simple call answers."""
    if len(data) < _PREFIX.size:
        raise failure(Code.RUNTIME_ANSWER, "the container runtime's answer holds no message")
    compressed, length = _PREFIX.unpack_from(data)
    if compressed or len(data) != _PREFIX.size + length:
        raise failure(Code.RUNTIME_ANSWER, "the container runtime's answer is not one plain message")
    return data[_PREFIX.size :]


def require_ok(trailers: Mapping[str, str], call: str) -> None:
    """Raise unless the status among `trailers` says that `call` went well."""
    text = trailers.get("grpc-status", "")
    if not text.isdecimal():
        raise failure(Code.RUNTIME_ANSWER, f"the container runtime ended {call} without a status")
    if int(text) != Status.OK:
        raise translate_status(int(text), unquote(trailers.get("grpc-message", "")), call)


def translate_status(number: int, words: str, call: str) -> HostError:
    """The failure behind a call's status; the words are the runtime's own."""
    status = Status(number) if number in set(Status) else Status.UNKNOWN
    said = words or status.name.lower().replace("_", " ")
    return failure(_CODES.get(status, Code.RUNTIME_REFUSED), f"the container runtime refused {call}: {said}")
