"""All file systems that a host can have behave alike: what is tested on one holds on the others."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnode.errors import FlexError
from flexnode.host.door import FileKind, Files
from flexnode.host.fake import FakeHost
from flexnode.host.files import TreeFiles
from flexnode.host.owners import this_process
from flexnode.host.rootfs import RootfsHost

OTHER = 0 if os.geteuid() else 1234
"""A user that this process may give files to: any for root, only itself for others."""


def make_tree(root: Path) -> TreeFiles:
    root.mkdir()
    return TreeFiles(root=root, owners=this_process(), mounts=lambda: ())


def make_fake(_root: Path) -> Files:
    return FakeHost().files


def make_rootfs(root: Path) -> Files:
    root.mkdir()
    return RootfsHost(root).files


MACHINES: dict[str, Callable[[Path], Files]] = {
    "fake": make_fake,
    "tree": make_tree,
    "rootfs": make_rootfs,
}


@pytest.fixture(params=sorted(MACHINES))
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    made = MACHINES[request.param](tmp_path / "root")
    for folder in ("/etc", "/var", "/var/lib"):
        made.make_directory(folder, mode=0o755)
    return made


def code(act: Callable[[], object]) -> str:
    with pytest.raises(FlexError) as caught:
        act()
    return caught.value.code


def test_a_written_file_has_its_bytes_mode_and_owner(files: Files) -> None:
    files.write("/etc/a", b"hello", mode=0o640, uid=OTHER, gid=OTHER)
    info = files.find("/etc/a")
    assert info is not None
    assert (info.kind, info.mode, info.uid, info.gid) == (FileKind.FILE, 0o640, OTHER, OTHER)
    assert info.size == 5
    assert files.read("/etc/a") == b"hello"
    assert files.digest("/etc/a") == hashlib.sha256(b"hello").hexdigest()
    assert "a" in files.list("/etc")


def test_an_installed_file_is_the_source_with_the_wanted_mode(files: Files, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(os.urandom(3_000_000))
    source.chmod(0o400)
    files.install("/var/lib/program", source, mode=0o755)
    info = files.find("/var/lib/program")
    assert info is not None
    assert info.mode == 0o755
    assert files.read("/var/lib/program") == source.read_bytes()


def test_identity_and_digest_follow_every_write(files: Files) -> None:
    seen = set()
    for data in (b"1", b"2", b"1"):
        files.write("/etc/a", data, mode=0o644)
        info = files.find("/etc/a")
        assert info is not None
        seen.add(info.identity)
        assert files.digest("/etc/a") == hashlib.sha256(data).hexdigest()
    assert len(seen) == 3


def test_nothing_there_is_no_failure_to_look_for_or_to_remove(files: Files) -> None:
    for path in ("/etc/nothing", "/etc/no/thing"):
        assert files.find(path) is None
        files.remove(path)
        assert files.remove_tree(path) == []
        assert files.mounts_below(path) == []
    assert code(lambda: files.read("/etc/nothing")) == "host/no-such-file"
    assert code(lambda: files.digest("/etc/no/thing")) == "host/no-such-file"


def test_the_links_in_a_directory_tell_where_they_lead_and_nothing_else_does(files: Files) -> None:
    files.make_directory("/var/lib/many", mode=0o755)
    files.write("/var/lib/many/file", b"", mode=0o644)
    files.make_directory("/var/lib/many/folder", mode=0o755)
    files.make_link("/var/lib/many/two", "/nowhere")
    files.make_link("/var/lib/many/one", "file")
    files.make_link("/etc/there", "/var/lib/many")
    assert list(files.links("/var/lib/many").items()) == [("one", "file"), ("two", "/nowhere")]
    assert files.links("/etc/there") == files.links("/var/lib/many")
    assert files.links("/var/lib/many/folder") == {}
    assert code(lambda: files.links("/var/lib/nothing")) == "host/no-such-file"
    assert code(lambda: files.links("/var/lib/many/file")) == "host/not-a-directory"


def test_a_file_is_no_directory(files: Files) -> None:
    files.write("/etc/a", b"", mode=0o644)
    assert files.find("/etc/a/b") is None
    assert code(lambda: files.write("/etc/a/b", b"", mode=0o644)) == "host/not-a-directory"
    assert code(lambda: files.list("/etc/a")) == "host/not-a-directory"
    assert code(lambda: files.make_directory("/etc/a", mode=0o755)) == "host/exists"
    assert code(lambda: files.read("/etc")) == "host/is-a-directory"
    assert code(lambda: files.write("/etc", b"", mode=0o644)) == "host/is-a-directory"
    assert code(lambda: files.make_link("/etc", "x")) == "host/is-a-directory"


def test_parents_are_not_made_by_accident(files: Files) -> None:
    assert code(lambda: files.write("/etc/no/thing", b"", mode=0o644)) == "host/no-such-file"
    assert code(lambda: files.make_directory("/etc/no/thing", mode=0o755)) == "host/no-such-file"
    assert code(lambda: files.make_link("/etc/no/thing", "x")) == "host/no-such-file"


def test_a_directory_gets_its_mode_whatever_the_umask_and_again_if_it_exists(files: Files) -> None:
    before = os.umask(0o077)
    try:
        files.make_directory("/etc/d", mode=0o775)
    finally:
        os.umask(before)
    info = files.find("/etc/d")
    assert info is not None
    assert (info.kind, info.mode) == (FileKind.DIRECTORY, 0o775)
    files.make_directory("/etc/d", mode=0o700)
    info = files.find("/etc/d")
    assert info is not None
    assert info.mode == 0o700


def test_a_link_is_seen_as_a_link_and_read_through(files: Files) -> None:
    files.write("/etc/a", b"target", mode=0o644)
    files.make_link("/etc/link", "a")
    info = files.find("/etc/link")
    assert info is not None
    assert (info.kind, info.target) == (FileKind.LINK, "a")
    assert files.read("/etc/link") == b"target"
    files.make_link("/etc/link", "/etc/../etc/a")
    assert files.read("/etc/link") == b"target"


def test_what_is_written_over_a_link_replaces_the_link_and_spares_its_target(files: Files) -> None:
    files.write("/etc/a", b"target", mode=0o644)
    files.make_link("/etc/link", "a")
    files.write("/etc/link", b"own", mode=0o644)
    assert files.read("/etc/a") == b"target"
    assert files.read("/etc/link") == b"own"
    files.make_link("/etc/link", "a")
    files.remove("/etc/link")
    assert files.read("/etc/a") == b"target"


def test_a_linked_directory_is_entered(files: Files) -> None:
    files.make_link("/linked", "var/lib")
    files.write("/linked/a", b"1", mode=0o644)
    assert files.read("/var/lib/a") == b"1"
    assert files.list("/linked") == files.list("/var/lib")


def test_links_never_lead_out_of_the_root(files: Files, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"outside")
    files.make_link("/etc/up", "../../../../../../etc")
    files.write("/etc/up/a", b"inside", mode=0o644)
    assert files.read("/etc/a") == b"inside"
    files.make_link("/etc/absolute", str(tmp_path))
    assert files.find("/etc/absolute/secret") is None
    assert code(lambda: files.write("/etc/absolute/secret", b"", mode=0o644)) == "host/no-such-file"
    files.make_link("/etc/file", "../../secret")
    assert code(lambda: files.read("/etc/file")) == "host/no-such-file"
    assert (tmp_path / "secret").read_bytes() == b"outside"


def test_links_in_a_circle_are_a_failure(files: Files) -> None:
    files.make_link("/etc/a", "b")
    files.make_link("/etc/b", "a")
    assert code(lambda: files.read("/etc/a")) == "host/link-loop"
    assert code(lambda: files.write("/etc/a/x", b"", mode=0o644)) == "host/link-loop"
    files.write("/etc/a", b"1", mode=0o644)
    assert files.read("/etc/b") == b"1"


def test_attributes_change_alone_and_together(files: Files) -> None:
    files.write("/etc/a", b"1", mode=0o644)
    first = files.find("/etc/a")
    files.set_attributes("/etc/a", mode=0o600)
    second = files.find("/etc/a")
    files.set_attributes("/etc/a", uid=OTHER, gid=OTHER, mtime_ns=1_600_000_000_123_456_789)
    third = files.find("/etc/a")
    assert first
    assert second
    assert third
    assert (second.mode, second.uid) == (0o600, 0)
    assert (third.mode, third.uid, third.gid) == (0o600, OTHER, OTHER)
    assert third.mtime_ns == 1_600_000_000_123_456_789
    assert len({first.identity, second.identity, third.identity}) == 3
    assert files.read("/etc/a") == b"1"
    assert code(lambda: files.set_attributes("/etc/nothing", mode=0o600)) == "host/no-such-file"


def test_a_change_of_owner_keeps_the_set_user_id_bit(files: Files) -> None:
    files.write("/etc/a", b"1", mode=0o4755)
    files.set_attributes("/etc/a", uid=OTHER)
    info = files.find("/etc/a")
    assert info is not None
    assert info.mode == 0o4755


def test_extended_attributes_are_seen_set_and_taken_away(files: Files) -> None:
    files.write("/etc/a", b"1", mode=0o644)
    files.set_attributes("/etc/a", xattrs={"user.one": b"\x00\xff", "user.two": b""})
    info = files.find("/etc/a")
    assert info is not None
    assert info.xattrs == {"user.one": b"\x00\xff", "user.two": b""}
    files.set_attributes("/etc/a", xattrs={"user.two": b"2"})
    info = files.find("/etc/a")
    assert info is not None
    assert info.xattrs == {"user.two": b"2"}
    files.write("/etc/a", b"2", mode=0o644)
    info = files.find("/etc/a")
    assert info is not None
    assert info.xattrs == {}


def test_a_rename_replaces_and_moves_whole_directories(files: Files) -> None:
    files.write("/etc/a", b"1", mode=0o644)
    files.write("/etc/b", b"2", mode=0o600)
    files.rename("/etc/a", "/etc/b")
    assert files.read("/etc/b") == b"1"
    assert files.find("/etc/a") is None
    files.make_directory("/var/lib/d", mode=0o755)
    files.write("/var/lib/d/x", b"3", mode=0o644)
    files.rename("/var/lib/d", "/var/lib/e")
    assert files.read("/var/lib/e/x") == b"3"
    assert files.find("/var/lib/d") is None
    assert code(lambda: files.rename("/etc/nothing", "/etc/c")) == "host/no-such-file"


def test_only_an_empty_directory_is_removed_without_saying_so(files: Files) -> None:
    files.make_directory("/var/lib/d", mode=0o755)
    files.write("/var/lib/d/x", b"", mode=0o644)
    assert code(lambda: files.remove("/var/lib/d")) == "host/not-empty"
    files.remove("/var/lib/d/x")
    files.remove("/var/lib/d")
    assert files.find("/var/lib/d") is None


def test_a_tree_goes_with_all_in_it_and_links_in_it_are_not_followed(files: Files) -> None:
    files.write("/etc/keep", b"1", mode=0o644)
    files.make_directory("/var/lib/d", mode=0o755)
    files.make_directory("/var/lib/d/e", mode=0o500)
    files.make_link("/var/lib/d/link", "/etc")
    files.write("/var/lib/d/x", b"", mode=0o000)
    assert files.remove_tree("/var/lib/d") == []
    assert files.find("/var/lib/d") is None
    assert files.read("/etc/keep") == b"1"
    files.make_link("/var/lib/l", "/etc")
    assert files.remove_tree("/var/lib/l") == []
    assert files.find("/var/lib/l") is None
    assert files.read("/etc/keep") == b"1"


def test_a_path_that_is_not_absolute_is_a_mistake_of_the_caller(files: Files) -> None:
    with pytest.raises(ValueError, match="not absolute"):
        files.find("etc/a")


NAMES = st.sampled_from(["a", "b", "a/x", "a/y", "b/x", "a/x/z"])
STEPS = st.one_of(
    st.tuples(st.just("write"), NAMES, st.binary(max_size=3)),
    st.tuples(st.just("make_directory"), NAMES),
    st.tuples(st.just("make_link"), NAMES, NAMES),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("remove_tree"), NAMES),
    st.tuples(st.just("rename"), NAMES, NAMES),
)


def act(files: Files, step: tuple[object, ...]) -> str:
    """What a file system answers to one step: the code of its failure, if any."""
    verb, first, *rest = step
    more = [f"/{each}" if verb == "rename" else each for each in rest]
    mode = {"write": {"mode": 0o644}, "make_directory": {"mode": 0o755}}.get(str(verb), {})
    try:
        getattr(files, str(verb))(f"/{first}", *more, **mode)
    except FlexError as error:
        return error.code
    return ""


def view(files: Files, folder: str = "/") -> dict[str, tuple[object, ...]]:
    """Everything in a file system."""
    seen: dict[str, tuple[object, ...]] = {}
    for name in files.list(folder):
        path = f"{folder.rstrip('/')}/{name}"
        info = files.find(path)
        assert info is not None
        seen[path] = (info.kind, info.mode, info.target)
        if info.kind is FileKind.DIRECTORY:
            seen |= view(files, path)
        elif info.kind is FileKind.FILE:
            seen[path] += (files.read(path),)
    return seen


def empty_fake() -> Files:
    files = FakeHost().files
    files.nodes = {"/": files.nodes["/"]}
    return files


@settings(max_examples=100, deadline=None)
@given(steps=st.lists(STEPS, max_size=16))
def test_any_steps_end_alike_on_a_disk_and_in_memory(steps: list[tuple[object, ...]]) -> None:
    """A crash walk on fakes would prove nothing about disks otherwise."""
    with TemporaryDirectory() as folder:
        disk, fake = make_tree(Path(folder) / "root"), empty_fake()
        for step in steps:
            assert act(disk, step) == act(fake, step), step
            assert view(disk) == view(fake)
