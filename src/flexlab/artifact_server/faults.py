"""What can go wrong between a mirror and a node, as data, and the file that switches it.

Of the faults in a file, the first one that fits a request and is not used up is the one that happens; so
`[Throttle(times=2), NotFound()]` throttles twice and answers 404 from then on.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar, Literal, get_args

import msgspec

from flexlab.errors import LabError
from flexnode.errors import UsageError

Count = Annotated[int, msgspec.Meta(ge=0)]


class _Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """What all faults have: which requests they hit, and how often.

    Equal faults share one count of hits. Writing a fault to a file gives it an `id` of its own, so that the
    same fault, switched on again, counts from zero.
    """

    path: str = "/"  # hits requests whose path begins so
    digest: str | None = None  # hits only the file with this SHA-256, whatever path it is asked for by
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None  # hits only the first so many
    id: str = ""

    needs_body: ClassVar[bool] = True
    """Whether it shows in the body of an answer only, so that a HEAD request passes unharmed."""


class FlipBit(_Fault, frozen=True, tag="flip-bit"):
    """One bit of the file is wrong, at `offset` from its beginning."""

    offset: Count = 0


class Truncate(_Fault, frozen=True, tag="truncate"):
    """The connection closes after so many bytes of the body, fewer than the headers promise."""

    after: Count = 0


class Stall(_Fault, frozen=True, tag="stall"):
    """So many bytes of the body, then nothing, and the connection stays open."""

    after: Count = 0


class Slow(_Fault, frozen=True, tag="slow"):
    """The body trickles."""

    bytes_per_second: Annotated[float, msgspec.Meta(gt=0)] = 1.0


class Reset(_Fault, frozen=True, tag="reset"):
    """The connection is reset: after so many bytes of the body, or, with None, before any answer."""

    after: Count | None = None

    needs_body: ClassVar[bool] = False


class NotFound(_Fault, frozen=True, tag="not-found"):
    """The file is not there."""

    needs_body: ClassVar[bool] = False


class Throttle(_Fault, frozen=True, tag="throttle"):
    """Come back later; with `as_date`, Retry-After names a moment and not a number of seconds."""

    status: Literal[429, 503] = 429
    retry_after: Annotated[int, msgspec.Meta(ge=0)] | None = 1
    as_date: bool = False

    needs_body: ClassVar[bool] = False


class CaptivePortal(_Fault, frozen=True, tag="captive-portal"):
    """A login page, with status 200, in the place of every file."""

    needs_body: ClassVar[bool] = False


class TlsFlaw(StrEnum):
    """What is wrong with a certificate."""

    UNKNOWN_AUTHORITY = "unknown-authority"
    WRONG_HOST = "wrong-host"
    EXPIRED = "expired"


class BadTls(_Fault, frozen=True, tag="bad-tls"):
    """HTTPS connections meet a certificate that no client should trust, whatever path they ask for."""

    flaw: TlsFlaw = TlsFlaw.UNKNOWN_AUTHORITY


Fault = FlipBit | Truncate | Stall | Slow | Reset | NotFound | Throttle | CaptivePortal | BadTls

FaultSource = Callable[[], Sequence[Fault]]
"""Asked at each request, so that faults can be switched at any moment."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    faults: tuple[Fault, ...] = ()


def no_faults() -> Sequence[Fault]:
    return ()


class FaultFile:
    """The faults in a file, as it is at the moment of asking; no file means none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self) -> Sequence[Fault]:
        return load_faults(self._path)


def load_faults(path: Path) -> tuple[Fault, ...]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    try:
        return msgspec.json.decode(data, type=_File).faults
    except msgspec.MsgspecError as error:
        raise LabError(
            f"{path} does not describe faults: {error}",
            code="lab/bad-faults",
            hint="delete it, and switch the faults on again",
        ) from error


def write_faults(path: Path, faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Switch to exactly these faults; a server that reads at this moment sees the old or the new ones.

    Returns them with their ids. One that comes with an id keeps it, and its count.
    """
    marked = tuple(fault if fault.id else _with_id(fault) for fault in faults)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(_File(faults=marked)), indent=2) + b"\n")
    os.replace(draft, path)
    return marked


def add_fault(path: Path, fault: Fault) -> Fault:
    """Switch one more fault on, after those that are on already."""
    return write_faults(path, (*load_faults(path), fault))[-1]


def clear_faults(path: Path) -> None:
    """Switch all faults off."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def parse_fault(kind: str, settings: Mapping[str, str]) -> Fault:
    """The fault that a command line describes: its kind, and its settings as text."""
    kinds = {str(each.__struct_config__.tag): each for each in get_args(Fault)}
    if kind not in kinds:
        raise UsageError(
            f"there is no fault {kind!r}", code="lab/bad-fault", hint=f"faults: {', '.join(sorted(kinds))}"
        )
    try:
        fault: Fault = msgspec.convert({**settings, "kind": kind}, type=Fault, strict=False)
    except msgspec.ValidationError as error:
        names = [name for name in kinds[kind].__struct_fields__ if name != "id"]
        raise UsageError(
            f"the fault {kind} cannot be set so: {error}",
            code="lab/bad-fault",
            hint=f"settings of {kind}: {', '.join(names)}",
        ) from error
    return fault


def _with_id(fault: Fault) -> Fault:
    return msgspec.structs.replace(fault, id=secrets.token_hex(4))
