"""Which process holds a file or a socket, read from /proc."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flexnode.errors import HostError
from flexnode.flows.preflight.reading import find_names, find_text
from flexnode.host.door import Host

_LISTENS = "0A"
_ACCEPTS = 0x10000


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    """A running program. `program` is the path it was started from; empty where the kernel does not tell."""

    pid: int
    name: str
    program: str = ""

    def __str__(self) -> str:
        return f"{self.name} (process {self.pid})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Listener:
    """A socket that waits for connections, and who holds it, as far as that can be seen."""

    inode: str
    holder: Process | None = None

    def __str__(self) -> str:
        return str(self.holder) if self.holder else "a process that cannot be seen from here"


def find_port(host: Host, port: int) -> Listener | None:
    """Who listens on a TCP port, on whatever address."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in (find_text(host, table) or "").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                return _listener(host, fields[9])
    return None


def find_socket(host: Host, path: str) -> Listener | None:
    """Who listens on a Unix socket."""
    for line in (find_text(host, "/proc/net/unix") or "").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7 and fields[7] == path and int(fields[3], 16) & _ACCEPTS:
            return _listener(host, fields[6])
    return None


def find_users(host: Host, path: str) -> Iterator[Process]:
    """The processes that have a file open."""
    return _holders(host, path)


def _listener(host: Host, inode: str) -> Listener:
    return Listener(inode=inode, holder=next(_holders(host, f"socket:[{inode}]"), None))


def _holders(host: Host, target: str) -> Iterator[Process]:
    for pid in find_names(host, "/proc"):
        if not pid.isdigit():
            continue
        try:
            held = any(
                _target(host, f"/proc/{pid}/fd/{fd}") == target for fd in find_names(host, f"/proc/{pid}/fd")
            )
        except HostError:  # it ended just now, or belongs to somebody whose files we may not see
            continue
        if held:
            name = (find_text(host, f"/proc/{pid}/comm") or "").strip() or "?"
            # A program that was replaced while it runs has a remark behind its path.
            program = _target(host, f"/proc/{pid}/exe").removesuffix(" (deleted)")
            yield Process(pid=int(pid), name=name, program=program)


def _target(host: Host, path: str) -> str:
    info = host.files.find(path)
    return "" if info is None else info.target
