"""A power cut at any step of an installation: run the same command again, and it is as if nothing had been.

The script is killed before one of its changes, each in turn: programs that change something are stood in for
by one that counts and, when its number is up, kills the whole script.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from flexnode.host import Command, run
from unit.shipping.samples import PROGRAM, Root, make_root, small_files, unpack

pytestmark = pytest.mark.slow

CHANGING = ("mkdir", "mv", "ln", "rm", "rmdir", "find")
"""Not `cp`: it writes drafts, and each is seen as it is left when what would move it is killed."""

KILLED = -9

STAND_IN = """\
#!/bin/sh
count=$(($(cat '{counter}') - 1))
echo "$count" >'{counter}'
[ "$count" != 0 ] || kill -KILL 0
exec {program} "$@"
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Killer:
    """Runs a script, and kills it before its n-th change."""

    folder: Path

    def run(self, script: Path, root: Root, *, before: int) -> bool:
        """Whether the script was killed; it was not if it made fewer changes."""
        (self.folder / "counter").write_text(str(before))
        path = f"{self.folder / 'bin'}:/usr/bin:/bin"
        argv = ("setsid", "--wait", "sh", str(script), "--root", str(root.path))
        # `setsid --wait` says with 128 plus its number which signal ended its child.
        done = run(Command(argv=argv, env={"PATH": path}, expect=(0, KILLED, 128 - KILLED)))
        return done.returncode != 0


@pytest.fixture
def killer(tmp_path: Path) -> Killer:
    folder = tmp_path / "killer"
    (folder / "bin").mkdir(parents=True)
    for name in CHANGING:
        program = shutil.which(name)
        assert program
        stand_in = folder / "bin" / name
        stand_in.write_text(STAND_IN.format(counter=folder / "counter", program=program))
        stand_in.chmod(0o755)
    # What it waits for is the disk, and other programs' writes with it.
    (folder / "bin/sync").symlink_to("/bin/true")
    return Killer(folder=folder)


@pytest.fixture
def archives(tmp_path: Path) -> tuple[Path, Path]:
    return (
        unpack(tmp_path / "first", small_files("1.0.0")),
        unpack(tmp_path / "second", small_files("2.0.0")),
    )


def roots(tmp_path: Path) -> Iterator[Root]:
    """Ever new machines."""
    number = 0
    while True:
        number += 1
        yield make_root(tmp_path / f"root{number}")


def test_a_first_installation(tmp_path: Path, killer: Killer, archives: tuple[Path, Path]) -> None:
    archive, _ = archives
    fresh = roots(tmp_path)
    undisturbed = next(fresh)
    stock = undisturbed.snapshot()
    assert not killer.run(archive / "install.sh", undisturbed, before=10_000)
    wanted = undisturbed.snapshot()
    for step, root in enumerate(fresh, 1):
        if not killer.run(archive / "install.sh", root, before=step):
            break
        if step % 2:
            assert not killer.run(archive / "install.sh", root, before=10_000)
            assert without_order(root.snapshot()) == without_order(wanted), f"killed before change {step}"
        else:
            assert not killer.run(archive / "uninstall.sh", root, before=10_000)
            assert root.snapshot() == stock, f"killed before change {step}"
        shutil.rmtree(root.path)
    assert step > 20


def test_an_upgrade(tmp_path: Path, killer: Killer, archives: tuple[Path, Path]) -> None:
    first, second = archives
    installed = next(roots(tmp_path))
    assert not killer.run(first / "install.sh", installed, before=10_000)
    for step in range(1, 10_000):
        root = Root(path=tmp_path / f"upgraded{step}")
        shutil.copytree(installed.path, root.path, symlinks=True)
        killed = killer.run(second / "install.sh", root, before=step)
        # At each moment there is a whole version, and it is one of the two.
        assert root.version() in ("1.0.0", "2.0.0")
        if not killed:
            break
        assert not killer.run(second / "install.sh", root, before=10_000)
        assert root.version() == "2.0.0", f"killed before change {step}"
        assert root.versions() == ["1.0.0", "2.0.0"], f"killed before change {step}"
        assert not (root.home / "restart-owed").exists()
        shutil.rmtree(root.path)
    assert step > 5


def test_an_uninstallation(tmp_path: Path, killer: Killer, archives: tuple[Path, Path]) -> None:
    archive, _ = archives
    stock = next(roots(tmp_path))
    stock.write(f"usr/local/bin/{PROGRAM}", "somebody's own program", 0o700)
    wanted = stock.snapshot()
    installed = Root(path=tmp_path / "installed")
    shutil.copytree(stock.path, installed.path, symlinks=True)
    assert not killer.run(archive / "install.sh", installed, before=10_000)
    for step in range(1, 10_000):
        root = Root(path=tmp_path / f"removed{step}")
        shutil.copytree(installed.path, root.path, symlinks=True)
        killed = killer.run(archive / "uninstall.sh", root, before=step)
        if killed:
            assert not killer.run(archive / "uninstall.sh", root, before=10_000)
        assert root.snapshot() == wanted, f"killed before change {step}"
        shutil.rmtree(root.path)
        if not killed:
            break
    assert step > 10


def without_order(found: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    """The record lists what was made in the order in which it was made; after a cut that may be another."""
    name = f"opt/{PROGRAM}/record"
    kind, mode, content, *rest = found[name]
    assert isinstance(content, bytes)
    return {**found, name: (kind, mode, sorted(content.splitlines()), *rest)}
