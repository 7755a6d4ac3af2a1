"""Which process holds a file or a socket, read from /proc."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
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


def find_ports(host: Host, ports: Iterable[int]) -> Mapping[int, Listener]:
    """Who listens on which of these TCP ports, on whatever address."""
    wanted = {f"{port:04X}": port for port in ports}
    inodes: dict[int, str] = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in (find_text(host, table) or "").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTENS:
                port = wanted.get(fields[1].rpartition(":")[2])
                if port is not None:
                    inodes.setdefault(port, fields[9])
    holders = _find_sockets(host, inodes.values())
    found = {port: inodes[port] for port in wanted.values() if port in inodes}
    return {port: Listener(inode=inode, holder=holders.get(inode)) for port, inode in found.items()}


def find_socket(host: Host, path: str) -> Listener | None:
    """Who listens on a Unix socket."""
    for line in (find_text(host, "/proc/net/unix") or "").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7 and fields[7] == path and int(fields[3], 16) & _ACCEPTS:
            return Listener(inode=fields[6], holder=_find_sockets(host, [fields[6]]).get(fields[6]))
    return None


def find_users(host: Host, paths: Iterable[str]) -> Iterator[Process]:
    """The processes that have one of these files open."""
    return (process for process, _ in _holders(host, frozenset(paths)))


def _find_sockets(host: Host, inodes: Iterable[str]) -> Mapping[str, Process]:
    """The first process that holds each of these sockets; all processes are looked through once."""
    targets = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[str, Process] = {}
    for process, held in _holders(host, targets.keys()) if targets else ():
        for target in held:
            found.setdefault(targets[target], process)
        if len(found) == len(targets):
            break
    return found


def _holders(host: Host, targets: AbstractSet[str]) -> Iterator[tuple[Process, AbstractSet[str]]]:
    """Each process that has one of `targets` open, with those that it has."""
    for pid in find_names(host, "/proc"):
        if not pid.isdigit():
            continue
        try:
            held = targets & set(host.files.links(f"/proc/{pid}/fd").values())
        except HostError:  # it ended just now, or belongs to somebody whose files we may not see
            continue
        if held:
            yield _describe(host, pid), held


def _describe(host: Host, pid: str) -> Process:
    name = (find_text(host, f"/proc/{pid}/comm") or "").strip() or "?"
    info = host.files.find(f"/proc/{pid}/exe")
    # A program that was replaced while it runs has a remark behind its path.
    program = info.target.removesuffix(" (deleted)") if info else ""
    return Process(pid=int(pid), name=name, program=program)
