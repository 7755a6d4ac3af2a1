"""Installing: verified before anything is touched, safe to repeat, and one step between two versions."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from flexlab.parts.toolchain import machine_arch
from flexlab.paths import repository
from flexnode.host import Command, run
from flexnode.model import Arch
from unit.shipping.samples import LINE, OTHER_LINE, PROGRAM, Root, builder, make_root, small_files, unpack

AGENT_LINK = f"etc/systemd/system/multi-user.target.wants/{PROGRAM}-agent.service"
RECOVER_LINK = f"etc/systemd/system/multi-user.target.wants/{PROGRAM}-recover.service"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return make_root(tmp_path / "root")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return unpack(tmp_path / "archive", small_files("1.0.0"))


def test_the_program_and_its_units_are_where_users_look_for_them(root: Root, archive: Path) -> None:
    said = root.install(archive)
    assert "systemctl enable --now aks-flex-node-agent" in said
    assert root.version() == "1.0.0"
    program = root.path / "usr/local/bin" / PROGRAM
    assert str(program.readlink()) == f"/opt/{PROGRAM}/current/bin/{PROGRAM}"
    assert (root.path / RECOVER_LINK).is_symlink()
    assert not (root.path / AGENT_LINK).is_symlink(), (
        "a machine without configuration must not join at a boot"
    )
    assert oct((root.path / f"etc/{PROGRAM}").stat().st_mode)[-4:] == "0700"
    assert not (root.path / f"var/lib/{PROGRAM}").exists()


def test_start_lets_an_image_start_the_agent_at_its_first_boot(root: Root, archive: Path) -> None:
    root.install(archive, "--start")
    link = root.path / AGENT_LINK
    assert (root.path / str(link.readlink()).lstrip("/")).is_file()


def test_only_what_is_left_to_do_is_said(root: Root, archive: Path, tmp_path: Path) -> None:
    config = tmp_path / "node.json"
    config.write_text("{}")
    assert "next: write /etc/aks-flex-node/config.json" in root.install(archive)
    assert "next: systemctl enable --now" in root.install(archive, "--config", config)
    assert "next" not in root.install(archive, "--start")
    assert "next" not in root.install(archive)


def test_a_second_run_touches_nothing(root: Root, archive: Path) -> None:
    root.install(archive, "--start")
    before = root.snapshot(times=True)
    root.install(archive, "--start")
    assert root.snapshot(times=True) == before


def test_a_configuration_is_readable_to_root_only(root: Root, archive: Path) -> None:
    config = root.write("given.json", '{"a": 1}')
    root.install(archive, "--config", config)
    root.install(archive, "--config", config)
    placed = root.path / f"etc/{PROGRAM}/config.json"
    assert placed.read_text() == '{"a": 1}'
    assert oct(placed.stat().st_mode)[-4:] == "0600"


@pytest.mark.parametrize(
    ("present", "given", "word"),
    [
        ("config.json", "given.json", "is another one"),
        ("config.yaml", "given.json", "only one can be"),
        ("config.json", "given.yml", "only one can be"),
        ("config.yml", "given.yaml", "only one can be"),
    ],
)
def test_a_users_configuration_is_never_replaced(
    root: Root, archive: Path, present: str, given: str, word: str
) -> None:
    root.write(f"etc/{PROGRAM}/{present}", "the user's", 0o600)
    assert word in root.refuse(archive / "install.sh", "--config", root.write(given, "new"))


def damage_byte(archive: Path) -> None:
    (archive / "lib/flexnode/__init__.py").write_text("__version__ = 'evil'\n")


def add_file(archive: Path) -> None:
    (archive / "lib/msgspec.py").write_text("evil = True\n")


def add_link(archive: Path) -> None:
    (archive / "lib/json").symlink_to("/usr/lib")


def lose_file(archive: Path) -> None:
    (archive / "start.py").unlink()


def empty_manifest(archive: Path) -> None:
    (archive / "MANIFEST.json").write_text("")


@pytest.mark.parametrize("harm", [damage_byte, add_file, add_link, lose_file, empty_manifest])
def test_an_archive_that_is_not_as_it_was_packed_touches_nothing(
    root: Root, archive: Path, harm: Callable[[Path], None]
) -> None:
    harm(archive)
    assert "nothing was changed" in root.refuse(archive / "install.sh")


@pytest.mark.parametrize(
    ("python", "arch", "word"),
    [
        (OTHER_LINE, machine_arch(), f"here is Python {LINE}"),
        (LINE, next(arch for arch in Arch if arch != machine_arch()), "here is Python"),
        ("3.10", machine_arch(), "install python3.10"),
    ],
)
def test_an_archive_for_another_machine_is_refused_with_what_is_needed(
    root: Root, tmp_path: Path, python: str, arch: Arch, word: str
) -> None:
    other = unpack(tmp_path / "other", small_files("1.0.0", python=python, arch=arch))
    said = root.refuse(other / "install.sh")
    assert f"for Python {python} on {arch}" in said
    assert word in said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What `make dist` leaves: an archive for each kind of machine, two versions, their digests, a script."""
    folder = tmp_path / "dist"
    folder.mkdir()
    for version in ("1.9.0", "1.10.0"):
        for python in ("3.11", "3.12"):
            for arch in Arch:
                target = builder.Target(python=python, arch=arch)
                builder.write_archive(folder, target.name(version), small_files(version, python, arch))
    script = repository() / "scripts/install.sh"
    (folder / "install.sh").write_bytes(script.read_bytes())
    builder.write_sums(folder)
    return folder


@pytest.mark.parametrize("arch", list(Arch))
@pytest.mark.parametrize("python", ["3.11", "3.12"])
def test_of_a_folder_the_newest_archive_that_fits_is_taken(
    folder: Path, tmp_path: Path, python: str, arch: Arch
) -> None:
    root = make_root(tmp_path / "root", python, arch)
    root.run(folder / "install.sh")
    assert root.version() == "1.10.0"
    manifest = (root.home / "current/MANIFEST.json").read_text()
    assert f'"python": "{python}"' in manifest
    assert f'"arch": "{arch}"' in manifest


def test_the_machines_own_python_is_preferred_and_another_one_will_do(folder: Path, tmp_path: Path) -> None:
    root = make_root(tmp_path / "root", "3.10")
    (root.path / "usr/bin/python3.11").write_bytes((root.path / "usr/bin/python3.10").read_bytes())
    (root.path / "usr/bin/python3.11").chmod(0o755)
    root.run(folder / "install.sh")
    assert '"python": "3.11"' in (root.home / "current/MANIFEST.json").read_text()


def test_a_folder_without_a_fitting_archive_says_what_the_machine_is(folder: Path, tmp_path: Path) -> None:
    root = make_root(tmp_path / "root", "3.9", Arch.ARM64)
    assert "here is Python 3.9 on arm64" in root.refuse(folder / "install.sh")


def test_an_archive_that_arrived_damaged_is_not_even_unpacked(folder: Path, root: Root) -> None:
    for archive in folder.glob("*.tar.gz"):
        archive.write_bytes(archive.read_bytes()[:-100])
    assert "SHA256SUMS" in root.refuse(folder / "install.sh")


def test_an_archive_can_be_named(folder: Path, tmp_path: Path) -> None:
    root = make_root(tmp_path / "root", "3.11", Arch.AMD64)
    root.run(folder / "install.sh", folder / f"{PROGRAM}-1.9.0-py311-amd64.tar.gz")
    assert root.version() == "1.9.0"


def test_an_upgrade_keeps_exactly_the_version_before(root: Root, tmp_path: Path) -> None:
    for version in ("1.0.0", "2.0.0", "3.0.0"):
        root.install(unpack(tmp_path / version, small_files(version)))
    assert root.version() == "3.0.0"
    assert root.versions() == ["2.0.0", "3.0.0"]
    assert str((root.home / "previous").readlink()).startswith("versions/2.0.0-")


def test_going_back_to_the_version_before_is_an_installation_like_any_other(
    root: Root, tmp_path: Path
) -> None:
    for version in ("1.0.0", "2.0.0", "1.0.0"):
        root.install(unpack(tmp_path / version, small_files(version)))
    assert root.version() == "1.0.0"
    assert root.versions() == ["1.0.0", "2.0.0"]


def test_an_installed_version_that_lost_a_file_is_mended(root: Root, archive: Path) -> None:
    root.install(archive)
    (root.home / "current/start.py").write_text("")
    root.install(archive)
    assert root.version() == "1.0.0"
    assert root.versions() == ["1.0.0"]


def test_two_installations_do_not_mix(root: Root, archive: Path) -> None:
    root.install(archive)
    with (root.home / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for script in ("install.sh", "uninstall.sh"):
            assert "another installation" in root.refuse(archive / script, code=75)


@pytest.mark.parametrize(
    "words", [("--wrong",), ("--config",), ("--config", "nowhere.json"), ("--config", "a.toml"), ("a", "b")]
)
def test_wrong_usage_is_told(root: Root, archive: Path, words: tuple[str, ...]) -> None:
    assert "error:" in root.refuse(archive / "install.sh", *words, code=2)


def test_a_machine_that_lost_its_python_says_what_to_do(tmp_path: Path) -> None:
    unpacked = unpack(tmp_path / "archive", small_files("1.0.0", python="3.0"))
    done = run(Command(argv=(str(unpacked / f"bin/{PROGRAM}"), "version"), expect=(1,)))
    assert b"next: install python3.0" in done.stderr
