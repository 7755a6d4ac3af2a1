"""Files, links, directories and units in a real directory tree: the kernel plays by no fake's rules."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from flexnode.host.door import Files
from flexnode.host.files import TreeFiles
from flexnode.host.owners import this_process
from flexnode.host.rootfs import RootfsHost
from flexnode.resources.state import Blob, Directory, File, Link, Secret, State, Text, Unit
from unit.resources.samples import Crash, Managed, Moments, manage, sha256

PATH = "/etc/node/thing"
PROGRAM = os.urandom(200_000)
OTHER = 1234 if os.geteuid() == 0 else 0
"""Somebody whom this process may give a file to: anybody for root, only itself for others."""


@dataclass(kw_only=True)
class DyingFiles(TreeFiles):
    """Real files, with a moment before and after every change of them."""

    hook: Callable[[str], None] = field(default=lambda _moment: None)

    def write(self, path: str, data: bytes, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        with self._step(f"write {path}"):
            super().write(path, data, mode=mode, uid=uid, gid=gid)

    def install(self, path: str, source: Path, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        with self._step(f"install {path}"):
            super().install(path, source, mode=mode, uid=uid, gid=gid)

    def set_attributes(self, path: str, **attributes: Any) -> None:
        with self._step(f"change {path}"):
            super().set_attributes(path, **attributes)

    def make_directory(self, path: str, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        with self._step(f"make {path}"):
            super().make_directory(path, mode=mode, uid=uid, gid=gid)

    def make_link(self, path: str, target: str) -> None:
        with self._step(f"link {path}"):
            super().make_link(path, target)

    def remove(self, path: str) -> None:
        with self._step(f"remove {path}"):
            super().remove(path)

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        self.hook(f"before {what}")
        yield
        self.hook(f"after {what}")


class Tree:
    """A root file system in a temporary directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.root.mkdir()
        self.files = DyingFiles(root=self.root, owners=this_process(), mounts=lambda: ())
        for path in ("/etc", "/etc/node", "/srv", "/etc/systemd", "/etc/systemd/system"):
            self.files.make_directory(path, mode=0o755)
        self.files.write("/etc/hosts", b"127.0.0.1 localhost\n", mode=0o644)

    def manage(self, key: str, want: State) -> Managed:
        kept = self.folder / "kept"
        kept.mkdir(exist_ok=True)
        host = RootfsHost(self.root)
        host.files = self.files
        managed = manage(host, key, want, kept)
        managed.contents.stage(PROGRAM)
        return managed

    def snapshot(self, *, times: bool) -> Mapping[str, Any]:
        """All of it, as the operating system tells it."""
        found: dict[str, Any] = {}
        for path in sorted(self.root.rglob("*")):
            info = path.lstat()
            same: dict[str, Any] = {"mode": oct(info.st_mode), "owner": (info.st_uid, info.st_gid)}
            if stat.S_ISLNK(info.st_mode):
                same |= {"target": os.readlink(path)}
            elif stat.S_ISREG(info.st_mode):
                same |= {"data": sha256(path.read_bytes()), "xattrs": xattrs_of(path)}
                same |= {"mtime": info.st_mtime_ns} if times else {}
            found[str(path)] = same
        return found


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[Tree]:
    """One tree after another, each as the first one was."""

    def make() -> Iterator[Tree]:
        number = 0
        while True:
            folder = tmp_path / str(number)
            folder.mkdir()
            yield Tree(folder)
            number += 1

    return make()


def xattrs_of(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path) if name.startswith("user.")}


def a_file(files: Files) -> None:
    files.write(PATH, b"mine", mode=0o4751, uid=OTHER, gid=OTHER)
    files.set_attributes(PATH, mtime_ns=1_500_000_000_123_456_789)


def a_file_with_attributes(files: Files) -> None:
    files.write(PATH, b"wanted", mode=0o640)
    files.set_attributes(PATH, xattrs={"user.origin": b"\0\xff"}, mtime_ns=1)


def a_link_to_a_directory(files: Files) -> None:
    files.make_directory("/srv/disk", mode=0o700, uid=OTHER, gid=OTHER)
    files.write("/srv/disk/theirs", b"precious", mode=0o600)
    files.make_link(PATH, "../../srv/disk")


SCENES: dict[str, Callable[[Files], None]] = {
    "nothing": lambda _files: None,
    "file": a_file,
    "file with attributes": a_file_with_attributes,
    "same file, too open": lambda files: files.write(PATH, b"wanted", mode=0o666),
    "link": lambda files: files.make_link(PATH, "/etc/hosts"),
    "dangling link": lambda files: files.make_link(PATH, "../nowhere"),
    "empty directory": lambda files: files.make_directory(PATH, mode=0o2710, uid=OTHER, gid=OTHER),
    "link to a directory": a_link_to_a_directory,
}

WANTS: dict[str, tuple[str, State]] = {
    "text": (f"file:{PATH}", File(content=Text(text="wanted"))),
    "program": (f"file:{PATH}", File(content=Blob(sha256=sha256(PROGRAM)), mode=0o755)),
    "credential": (
        f"file:{PATH}",
        File(content=Secret(template="{{token}}", names=("token",)), mode=0o600, uid=OTHER, gid=OTHER),
    ),
    "link": (f"link:{PATH}", Link(target="../node/current")),
    "directory": (f"directory:{PATH}", Directory(mode=0o750, uid=OTHER, gid=OTHER)),
}

everywhere = pytest.mark.parametrize("scene", sorted(SCENES))
everything = pytest.mark.parametrize("want", sorted(WANTS))


def prepare(tree: Tree, scene: str, want: str) -> Managed:
    if scene == "file with attributes" and not takes_attributes(tree.root):
        pytest.skip("this file system takes no attributes of users")
    SCENES[scene](tree.files)
    return tree.manage(*WANTS[want])


def takes_attributes(folder: Path) -> bool:
    try:
        os.setxattr(folder, "user.flexnode", b"")
        os.removexattr(folder, "user.flexnode")
    except OSError:
        return False
    return True


@everywhere
@everything
def test_there_and_back_on_a_real_file_system(scene: str, want: str, trees: Iterator[Tree]) -> None:
    tree = next(trees)
    managed = prepare(tree, scene, want)
    original = tree.snapshot(times=True)
    there = managed.is_as_wanted()
    assert tree.snapshot(times=True) == original
    before = managed.converge()
    assert (before is None) == there
    assert managed.is_as_wanted()
    assert managed.converge() is None
    if before is not None:
        managed.undo(before)
    assert tree.snapshot(times=True) == original


@everywhere
@everything
def test_killed_between_any_two_calls_it_is_finished_or_taken_back(
    scene: str, want: str, trees: Iterator[Tree]
) -> None:
    for goes_on in (True, False):
        for fatal in range(moments_of(next(trees), scene, want)):
            tree = next(trees)
            managed = prepare(tree, scene, want)
            original, before = tree.snapshot(times=True), managed.find()
            tree.files.hook = Moments(fatal)
            with pytest.raises(Crash):
                managed.converge()
            tree.files.hook = Moments()
            if goes_on:
                managed.converge()
                assert managed.is_as_wanted()
            managed.undo(before)
            assert tree.snapshot(times=True) == original


def moments_of(tree: Tree, scene: str, want: str) -> int:
    managed = prepare(tree, scene, want)
    tree.files.hook = moments = Moments()
    managed.converge()
    return len(moments.seen)


UNIT = "thing.service"
VENDOR = "/usr/lib/systemd/system"


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "want",
    [
        Unit(enabled=True, active=True),
        Unit(enabled=False, active=False),
        Unit(masked=True),
        Unit(enabled=True, masked=True),
    ],
)
def test_units_of_an_image_are_enabled_and_masked_there_and_back(
    enabled: bool, masked: bool, want: Unit, trees: Iterator[Tree]
) -> None:
    tree = next(trees)
    for path in ("/usr", "/usr/lib", "/usr/lib/systemd", VENDOR):
        tree.files.make_directory(path, mode=0o755)
    tree.files.write(f"{VENDOR}/{UNIT}", b"[Install]\nWantedBy=multi-user.target\n", mode=0o644)
    managed = tree.manage(f"unit:{UNIT}", want)
    if enabled:
        managed.host.units.enable(UNIT)
    if masked:
        managed.host.units.mask(UNIT)
    original = links_in(tree.root)
    before = managed.converge()
    assert managed.is_as_wanted()
    assert managed.converge() is None
    if before is not None:
        managed.undo(before)
    assert links_in(tree.root) == original


def links_in(root: Path) -> Sequence[str]:
    """Every link, which is all that enabling and masking are; empty directories may stay behind."""
    return sorted(f"{path} {os.readlink(path)}" for path in root.rglob("*") if path.is_symlink())
