"""Where a kubeconfig that somebody else wrote leads to: its server, and nothing else of it."""

from __future__ import annotations

import re

from flexnode.host.door import FileInfo, FileKind, Host
from flexnode.resources.handler import Contents
from flexnode.resources.state import Absent, Kubeconfig, State

# Not parsed: all else in the file, its author's credentials above all, stays as it is, byte for byte.
_SERVER = re.compile(rb"""(?<![\w-])("?)server\1\s*:\s*["']?(https://[^\s"',}]+)""")


class KubeconfigHandler:
    """kubelet writes its own once, when it joins, and never looks at the way it joined by again.

    Absent: there is no such file yet, or it is none with a single server, so that it is none of kubelet's;
    either is as good as what is wanted, and is left alone.
    """

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        info = _find_file(host, name)
        servers = _SERVER.findall(host.files.read(name)) if info else []
        if info is None or len(servers) != 1:
            return Absent()
        return Kubeconfig(server=servers[0][1].decode(), mtime_ns=info.mtime_ns)

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        if not isinstance(want, Kubeconfig) or not isinstance(found, Kubeconfig):
            return True
        same = _folded(want.server) == _folded(found.server)
        return same and want.mtime_ns in (None, found.mtime_ns)

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        info = _find_file(host, name)
        if info is None or not isinstance(state, Kubeconfig):
            return
        if self.matches(state, self.observe(host, name, state, contents), contents):
            return
        data = host.files.read(name)
        start, end = next(_SERVER.finditer(data)).span(2)
        written = data[:start] + state.server.encode() + data[end:]
        host.files.write(name, written, mode=info.mode, uid=info.uid, gid=info.gid)
        if state.mtime_ns is not None:
            host.files.set_attributes(name, mtime_ns=state.mtime_ns)

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """The server found is all there is to keep."""


def _find_file(host: Host, name: str) -> FileInfo | None:
    info = host.files.find(name)
    return info if info is not None and info.kind is FileKind.FILE else None


def _folded(server: str) -> str:
    return server.rstrip("/")
