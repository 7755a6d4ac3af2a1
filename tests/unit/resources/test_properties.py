"""Whatever a machine had and whatever is wanted: it comes true, also after a crash, and can be taken back."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from flexnode.host.fake import FakeHost
from flexnode.resources.state import Absent, Blob, Directory, File, Link, State, Text, Unit
from unit.resources.samples import Crash, Moments, manage, sha256

PATH = "/etc/node/thing"
UNIT = "thing.service"

Lay = Callable[[FakeHost], None]

modes = st.integers(0, 0o7777)
owners = st.integers(0, 3)
texts = st.sampled_from(["", "a", "b", "ü\0"])
attributes = st.dictionaries(st.sampled_from(["user.a", "user.b"]), st.binary(max_size=2))

wanted_files = st.builds(File, content=st.builds(Text, text=texts), mode=modes, uid=owners, gid=owners)
links = st.builds(Link, target=st.sampled_from(["/etc/hosts", "nowhere", "/srv", "../../srv"]))
directories = st.builds(Directory, mode=modes, uid=owners, gid=owners)
found_files = st.builds(
    File,
    content=st.builds(Text, text=texts),
    mode=modes,
    uid=owners,
    gid=owners,
    xattrs=attributes,
    mtime_ns=st.integers(1, 2**62),
)
anything = st.one_of(st.just(Absent()), found_files, links, directories)
dying = st.integers(-1, 12)


def lay(host: FakeHost, state: State) -> None:
    """Set the scene: `state` lies at the path."""
    host.files.place_directory("/etc/node")
    match state:
        case File(content=Text(text=text)):
            host.files.place(
                PATH,
                text,
                mode=state.mode,
                uid=state.uid,
                gid=state.gid,
                xattrs=dict(state.xattrs),
                mtime_ns=state.mtime_ns,
            )
        case Link(target=target):
            host.files.place_link(PATH, target)
        case Directory():
            host.files.place_directory(PATH, mode=state.mode, uid=state.uid, gid=state.gid)


def check_there_and_back(scene: Lay, key: str, want: State, dies: int, dies_back: int) -> None:
    """To what is wanted and back, with a crash on either way."""
    with tempfile.TemporaryDirectory() as folder:
        host = FakeHost()
        scene(host)
        original = host.snapshot(times=True)
        managed = manage(host, key, want, Path(folder))
        before = managed.find()
        host.hook = Moments(dies)
        try:
            managed.converge()
        except Crash:
            host.hook = Moments()
            managed.converge()
        assert managed.is_as_wanted()
        host.hook = Moments(dies_back)
        try:
            managed.undo(before)
        except Crash:
            host.hook = Moments()
            managed.undo(before)
        assert host.snapshot(times=True) == original


@given(before=anything, want=st.one_of(wanted_files, st.just(Absent())), dies=dying, dies_back=dying)
def test_files(before: State, want: State, dies: int, dies_back: int) -> None:
    check_there_and_back(lambda host: lay(host, before), f"file:{PATH}", want, dies, dies_back)


@given(before=anything, want=links, dies=dying, dies_back=dying)
def test_links(before: State, want: State, dies: int, dies_back: int) -> None:
    check_there_and_back(lambda host: lay(host, before), f"link:{PATH}", want, dies, dies_back)


@given(before=anything, want=directories, dies=dying, dies_back=dying)
@example(before=Link(target="/srv"), want=Directory(mode=0o700), dies=-1, dies_back=-1)
def test_directories(before: State, want: State, dies: int, dies_back: int) -> None:
    check_there_and_back(lambda host: lay(host, before), f"directory:{PATH}", want, dies, dies_back)


@given(
    enabled=st.booleans(),
    active=st.booleans(),
    masked=st.booleans(),
    want=st.one_of(
        st.just(Absent()),
        st.builds(
            Unit,
            enabled=st.sampled_from([None, False, True]),
            active=st.sampled_from([None, False, True]),
            masked=st.booleans(),
        ),
    ),
    dies=dying,
    dies_back=dying,
)
def test_units(enabled: bool, active: bool, masked: bool, want: State, dies: int, dies_back: int) -> None:
    def scene(host: FakeHost) -> None:
        host.units.place(UNIT, enabled=enabled, active=active)
        if masked:
            host.units.mask(UNIT)

    check_there_and_back(scene, f"unit:{UNIT}", want, dies, dies_back)


@given(first=wanted_files, second=wanted_files)
def test_two_files_match_only_if_nobody_could_tell_them_apart(first: File, second: File) -> None:
    with tempfile.TemporaryDirectory() as folder:
        managed = manage(FakeHost(), f"file:{PATH}", first, Path(folder))
        as_found = File(
            content=Blob(sha256=sha256(second.content.text.encode()))
            if isinstance(second.content, Text)
            else second.content,
            mode=second.mode,
            uid=second.uid,
            gid=second.gid,
            mtime_ns=1,
        )
        assert managed.handler.matches(first, as_found, managed.contents) == (first == second)
