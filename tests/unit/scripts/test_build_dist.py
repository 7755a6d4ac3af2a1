"""What is handed to users: whole, the same for the same sources, and enough to run without anything else."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import flexnode
from flexlab.errors import LabError
from flexlab.parts.toolchain import machine_arch
from flexlab.paths import repository
from flexnode.host import Command, Completed, run
from flexnode.model import Arch
from flexnode.progress import Silent
from unit.shipping.samples import LINE, PROGRAM, builder

HERE = builder.Target(python=LINE, arch=machine_arch())
SHIPPED = ("src/flexnode", "packaging", "scripts", "requirements", "LICENSE")

# Dependencies come from wherever pip is set to take them, once; then they lie in the cache.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree as it is now; what is edited meanwhile does not matter."""
    folder = tmp_path_factory.mktemp("source")
    for name in SHIPPED:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (repository() / name).is_dir():
            shutil.copytree(repository() / name, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(repository() / name, place)
    return folder


@pytest.fixture(scope="session")
def dist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive for this machine, and one for the other architecture."""
    output = tmp_path_factory.mktemp("dist")
    targets = [builder.Target(python=LINE, arch=arch) for arch in Arch]
    builder.build(source, targets, output, Silent())
    return output


@pytest.fixture(scope="session")
def unpacked(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    name = HERE.name(flexnode.__version__)
    with tarfile.open(dist / f"{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / name


def run_isolated(*argv: str | Path) -> Completed:
    """In an empty environment, as a unit of systemd starts it or emptier."""
    return run(Command(argv=("env", "-i", *map(str, argv)), cwd=Path("/")))


def test_the_program_runs_from_where_it_is_unpacked(unpacked: Path) -> None:
    said = run_isolated(unpacked / f"bin/{PROGRAM}", "version", "--output", "json")
    assert json.loads(said.stdout)["version"] == flexnode.__version__


def test_all_that_the_product_imports_lies_in_the_archive(unpacked: Path) -> None:
    """Nothing of the machine's own packages: they are older, or missing, on the next one."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import click, h2.connection, httpx, importlib, msgspec, pkgutil, yaml, flexnode;"
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages(flexnode.__path__, 'flexnode.')];"
        "print(*(m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)), sep='\\n')"
    )
    files = run_isolated(sys.executable, "-I", "-S", "-c", script, unpacked / "lib").text.splitlines()
    standard = (os.path.dirname(os.__file__), f"{sys.base_prefix}/lib")
    assert [file for file in files if not file.startswith((str(unpacked), *standard))] == []
    assert any(file.startswith(str(unpacked / "lib/httpx")) for file in files)
    assert not (unpacked / "lib/flexlab").exists()


def test_running_it_writes_nothing_beside_its_modules(unpacked: Path) -> None:
    """The bytecode is complete and is used as it is, so that digests stay true and starts stay fast."""
    before = {path: path.stat().st_mtime_ns for path in unpacked.rglob("*")}
    run_isolated(unpacked / f"bin/{PROGRAM}", "artifacts", "--help")
    assert {path: path.stat().st_mtime_ns for path in unpacked.rglob("*")} == before
    modules = {path.stem for path in (unpacked / "lib/flexnode").glob("*.py")}
    compiled = list((unpacked / "lib/flexnode/__pycache__").iterdir())
    assert {path.name.partition(".")[0] for path in compiled} == modules
    # Bit 0: the source's digest stands in it, not its time. Bit 1 would be: compare it at each import.
    assert {path.read_bytes()[4:8] for path in compiled} == {b"\x01\x00\x00\x00"}


def test_the_same_sources_give_the_same_bytes(source: Path, dist: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(source, moved)
    for path in moved.rglob("*"):
        os.utime(path, (1, 1))
    (again,) = builder.build(moved, [HERE], tmp_path / "dist", Silent())
    assert again.read_bytes() == (dist / again.name).read_bytes()


def test_every_library_is_built_for_the_architecture_of_its_archive(dist: Path, tmp_path: Path) -> None:
    for arch, machine in builder.ELF_MACHINES.items():
        target = builder.Target(python=LINE, arch=arch)
        with tarfile.open(dist / f"{target.name(flexnode.__version__)}.tar.gz") as archive:
            archive.extractall(tmp_path / arch, filter="data")
        headers = [path.read_bytes()[:20] for path in (tmp_path / arch).rglob("*.so")]
        assert len(headers) >= 2
        assert {header[:4] + header[18:] for header in headers} == {
            b"\x7fELF" + machine.to_bytes(2, "little")
        }


def test_a_library_of_another_architecture_is_not_packed() -> None:
    library = b"\x7fELF".ljust(18, b"\0") + builder.ELF_MACHINES[Arch.AMD64].to_bytes(2, "little")
    builder.check_machine({"lib/a.so": library}, builder.Target(python=LINE, arch=Arch.AMD64))
    for files in ({"lib/a.so": library}, {"lib/a.py": b""}):
        with pytest.raises(LabError, match="arm64"):
            builder.check_machine(files, builder.Target(python=LINE, arch=Arch.ARM64))


def test_the_archive_holds_what_its_manifest_says_and_belongs_to_root(dist: Path, unpacked: Path) -> None:
    manifest = json.loads((unpacked / "MANIFEST.json").read_text())
    assert (manifest["version"], manifest["python"]) == (flexnode.__version__, LINE)
    assert manifest["arch"] == machine_arch().value
    assert manifest["bytecode"] == platform.python_version()
    with tarfile.open(dist / f"{unpacked.name}.tar.gz") as archive:
        members = archive.getmembers()
    names = [member.name.removeprefix(f"{unpacked.name}/") for member in members]
    assert names == sorted([*manifest["files"], "MANIFEST.json"])
    assert {(member.uid, member.gid, member.mtime) for member in members} == {(0, 0, 0)}
    assert {name for name, member in zip(names, members, strict=True) if member.mode & 0o111} == {
        f"bin/{PROGRAM}",
        "install.sh",
        "uninstall.sh",
    }


def test_every_dependency_comes_with_its_licence(unpacked: Path) -> None:
    dependencies = {path.name.removesuffix(".dist-info") for path in unpacked.glob("lib/*.dist-info")}
    assert {path.name for path in (unpacked / "LICENSES").iterdir()} == dependencies
    assert all(any(path.iterdir()) for path in (unpacked / "LICENSES").iterdir())
    assert (unpacked / "LICENSE").is_file()


def test_the_digests_beside_the_archives_are_theirs(dist: Path) -> None:
    said = run(Command(argv=("sha256sum", "--check", "--strict", "SHA256SUMS"), cwd=dist)).text
    assert {line.partition(":")[0] for line in said.splitlines()} == {
        path.name for path in dist.iterdir() if path.name != "SHA256SUMS"
    }


def test_shells_complete_the_program(unpacked: Path) -> None:
    """The completion asks the program itself, with variables that isolation does not hide from it."""
    script = unpacked / builder.COMPLETIONS["bash"]
    assert f"complete -o nosort -F _aks_flex_node_completion {PROGRAM}" in script.read_text()
    run(Command(argv=("bash", "-n", str(script))))
    words = ("_AKS_FLEX_NODE_COMPLETE=bash_complete", f"COMP_WORDS={PROGRAM} ver", "COMP_CWORD=1")
    assert run_isolated(*words, unpacked / f"bin/{PROGRAM}").text.strip() == "plain,version"


def test_every_line_of_python_that_is_supported_gets_an_archive() -> None:
    project = tomllib.loads((repository() / "pyproject.toml").read_text())["project"]
    oldest, newest = builder.LINES[0], builder.LINES[-1]
    major, minor = newest.split(".")
    assert project["requires-python"] == f">={oldest},<{major}.{int(minor) + 1}"
    assert len(builder.LINES) == int(minor) - int(oldest.split(".")[1]) + 1


def test_without_an_interpreter_of_its_line_an_archive_says_that_it_holds_no_bytecode() -> None:
    assert builder.find_interpreter("3.999", ()) == ("", None)
    revision = builder.Revision(version="1.0.0", commit="", modified=False)
    manifest = json.loads(builder.render_manifest({}, HERE, revision, None))
    assert manifest["bytecode"] is None


def test_an_interpreter_that_was_named_compiles_its_own_line_only() -> None:
    assert builder.find_interpreter(LINE, (sys.executable,)) == (sys.executable, platform.python_version())
    assert builder.find_interpreter("3.999", (sys.executable,)) == ("", None)


@pytest.mark.parametrize(
    ("member", "place"),
    [
        ("httpx/_api.py", "lib/httpx/_api.py"),
        ("typing_extensions.py", "lib/typing_extensions.py"),
        ("h11-1.dist-info/licenses/LICENSE.txt", "LICENSES/h11-1/LICENSE.txt"),
        ("h11-1.dist-info/LICENSE", "LICENSES/h11-1/LICENSE"),
        ("h11-1.dist-info/METADATA", "lib/h11-1.dist-info/METADATA"),
        ("h11-1.dist-info/RECORD", None),
    ],
)
def test_a_wheels_files_go_where_they_are_looked_for(member: str, place: str | None) -> None:
    assert builder.place_member(member) == place


def test_a_wheel_that_unpacking_does_not_install_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="installed"):
        builder.place_member("tool-1.data/scripts/tool")
    wheel = tmp_path / "tool-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tool.py", "")
    with pytest.raises(LabError, match="licence"):
        builder.read_wheel(wheel)


def test_without_an_index_the_failure_says_what_was_asked_of_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    requirements = (repository() / "requirements/runtime.txt").read_text()
    with pytest.raises(LabError) as caught:
        builder.Wheels(target=HERE, requirements=requirements).make(tmp_path, tmp_path / "log")
    assert caught.value.code == "dist/no-dependencies"
    assert f"Python {LINE}" in caught.value.message
    assert "pip config list" in caught.value.hint
