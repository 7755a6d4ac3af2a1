"""What lies at a path, and how it becomes something else: the ground under files, links and directories."""

from __future__ import annotations

import posixpath

from flexnode.errors import HostError
from flexnode.host.door import FileKind, Files
from flexnode.resources.handler import Contents
from flexnode.resources.state import Absent, Blob, Directory, File, Link, State

_HOPS = 40


def observe_path(files: Files, path: str) -> Absent | File | Link | Directory:
    """What lies there; links are not followed."""
    info = files.find(path)
    if info is None:
        return Absent()
    if info.kind is FileKind.LINK:
        return Link(target=info.target)
    if info.kind is FileKind.DIRECTORY:
        return Directory(mode=info.mode, uid=info.uid, gid=info.gid)
    if info.kind is FileKind.FILE:
        return File(
            content=Blob(sha256=files.digest(path)),
            mode=info.mode,
            uid=info.uid,
            gid=info.gid,
            xattrs=dict(info.xattrs),
            mtime_ns=info.mtime_ns,
        )
    raise HostError(
        f"{path} is a device, a socket or a pipe: it cannot be put back once it was replaced",
        code="file/in-the-way",
        hint=f"move or remove {path}",
    )


def matches_path(want: State, found: State, contents: Contents) -> bool:
    """Whether `found` is as good: attributes and times of a file count where `want` names them."""
    if not isinstance(want, File) or not isinstance(found, File):
        return want == found
    if (want.mode, want.uid, want.gid) != (found.mode, found.uid, found.gid):
        return False
    if want.xattrs and want.xattrs != found.xattrs:
        return False
    if want.mtime_ns is not None and want.mtime_ns != found.mtime_ns:
        return False
    return contents.digest(want.content) == contents.digest(found.content)


def put_path(files: Files, path: str, state: State, contents: Contents) -> None:
    """Bring what lies there to `state`, in place of whatever it was."""
    match state:
        case Absent():
            remove_path(files, path)
        case File():
            _put_file(files, path, state, contents)
        case Link(target=target):
            _make_way(files, path)
            files.make_link(path, target)
        case Directory():
            _put_directory(files, path, state)
        case _:
            raise TypeError(f"{path} cannot be {state}")


def remove_path(files: Files, path: str) -> None:
    """Remove what lies there; a directory only if nothing is in it and nothing is mounted on it."""
    info = files.find(path)
    if info is None:
        return
    if info.kind is FileKind.DIRECTORY and (files.list(path) or files.mounts_below(path)):
        return
    files.remove(path)


def preserve_path(files: Files, path: str, found: State, contents: Contents) -> None:
    """Keep the bytes of the file that was found; the other states say all there is to know."""
    if not isinstance(found, File):
        return
    kept = contents.keep(files.read(path))
    if kept != found.content:
        raise HostError(
            f"{path} was changed while it was about to be replaced",
            code="file/changed-meanwhile",
            transient=True,
            hint="find out who writes it, and try again",
        )


def real_path(files: Files, path: str) -> str:
    """Where `path` leads once every link in it was followed, whether anything lies there or not."""
    done, hops = "/", 0
    rest = path.split("/")[::-1]
    while rest:
        part = rest.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = posixpath.dirname(done)
            continue
        here = posixpath.join(done, part)
        info = files.find(here)
        if info is None or info.kind is not FileKind.LINK:
            done = here
            continue
        hops += 1
        if hops > _HOPS:
            raise HostError(
                f"the links at {path} lead in circles",
                code="host/link-loop",
                hint=f"see where they lead: namei {path}",
            )
        if info.target.startswith("/"):
            done = "/"
        rest.extend(info.target.split("/")[::-1])
    return done


def _put_file(files: Files, path: str, state: File, contents: Contents) -> None:
    content = contents.resolve(state.content)
    _make_way(files, path)
    if isinstance(content, bytes):
        files.write(path, content, mode=state.mode, uid=state.uid, gid=state.gid)
    else:
        files.install(path, content, mode=state.mode, uid=state.uid, gid=state.gid)
    if state.xattrs or state.mtime_ns is not None:
        files.set_attributes(path, xattrs=state.xattrs or None, mtime_ns=state.mtime_ns)


def _put_directory(files: Files, path: str, state: Directory) -> None:
    info = files.find(path)
    if info is not None and info.kind is FileKind.DIRECTORY:
        if (info.mode, info.uid, info.gid) != (state.mode, state.uid, state.gid):
            files.set_attributes(path, mode=state.mode, uid=state.uid, gid=state.gid)
        return
    files.remove(path)
    files.make_directory(path, mode=state.mode, uid=state.uid, gid=state.gid)


def _make_way(files: Files, path: str) -> None:
    """A directory cannot be replaced by renaming over it. What is in one belongs to somebody."""
    info = files.find(path)
    if info is None or info.kind is not FileKind.DIRECTORY:
        return
    if files.list(path) or files.mounts_below(path):
        raise HostError(
            f"{path} is a directory that is in use, where a file or a link is wanted",
            code="file/in-the-way",
            hint=f"see what is in {path}; move or remove it",
        )
    files.remove(path)
