#!/usr/bin/env python3
"""Pack AKS Flex Node with all that it imports: archives that install without network and without pip.

    scripts/build_dist.py [--python 3.13]... [--arch arm64]... [--output FOLDER]

One archive for each line of Python and each architecture, by default all of them; beside them SHA256SUMS,
and an install.sh that takes the right one. Dependencies are the locked ones, from wherever pip is set to take
them; they are kept in the cache and asked for once. The same sources give the same bytes.

Bytecode is compiled by an interpreter of its own line: this one, one on PATH, or one that --interpreter
names. An archive of a line that no interpreter is here for holds none, and is compiled where it is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from flexlab.errors import LabError
from flexlab.images.tarball import Item, write_tar_gz
from flexlab.parts.cache import ensure, file_sha256
from flexlab.paths import cache_dir, repository
from flexnode.cli.progress import open_progress
from flexnode.clock import SystemClock
from flexnode.errors import CommandError, FlexError, exit_code
from flexnode.host import Command, run
from flexnode.model import Arch
from flexnode.progress import Progress

PROGRAM = "aks-flex-node"
LINES = ("3.11", "3.12", "3.13")
MACHINES = {Arch.AMD64: "x86_64", Arch.ARM64: "aarch64"}
ELF_MACHINES = {Arch.AMD64: 62, Arch.ARM64: 183}
GLIBC_MINORS = range(35, 16, -1)
"""glibc 2.35 is what the oldest supported system has (Ubuntu 22.04)."""

COMPLETIONS = {
    "bash": f"completion/bash/{PROGRAM}",
    "zsh": f"completion/zsh/_{PROGRAM}",
    "fish": f"completion/fish/{PROGRAM}.fish",
}
SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
EXECUTABLE = frozenset({f"bin/{PROGRAM}", "install.sh", "uninstall.sh"})
MANIFEST = "MANIFEST.json"
PLAIN_NAME = re.compile(r"[A-Za-z0-9._+/-]+")
"""What install.sh can read back from the manifest without knowing how JSON and a shell quote."""

Files = dict[str, bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What one archive is for."""

    python: str
    arch: Arch

    def name(self, version: str) -> str:
        return f"{PROGRAM}-{version}-py{self.python.replace('.', '')}-{self.arch}"

    def __str__(self) -> str:
        return f"Python {self.python} on {self.arch}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """What is packed: the commit (empty outside of a checkout), and whether the tree differs from it."""

    version: str
    commit: str
    modified: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Wheels:
    """A cache job: the locked dependencies, as their wheels."""

    target: Target
    requirements: str

    @property
    def name(self) -> str:
        return f"wheels-py{self.target.python.replace('.', '')}-{self.target.arch}"

    @property
    def title(self) -> str:
        return f"fetch the dependencies for {self.target}"

    def inputs(self) -> Mapping[str, object]:
        return {
            "requirements": self.requirements,
            "python": self.target.python,
            "arch": self.target.arch.value,
            "glibc": GLIBC_MINORS[0],
        }

    def make(self, folder: Path, log: Path) -> None:
        machine = MACHINES[self.target.arch]
        platforms = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC_MINORS]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
            requirements.write(self.requirements)
            requirements.flush()
            argv = (
                *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
                *("--only-binary=:all:", "--require-hashes", "--implementation=cp"),
                *(f"--platform={platform}" for platform in (*platforms, f"manylinux2014_{machine}")),
                *(f"--python-version={self.target.python}", f"--dest={folder}", f"-r{requirements.name}"),
            )
            try:
                run(Command(argv=argv, timeout=600))
            except CommandError as error:
                log.write_text(error.message)
                *_, last = error.message.strip().splitlines()
                raise LabError(
                    f"pip cannot fetch the locked dependencies for {self.target}: {last}",
                    code="dist/no-dependencies",
                    transient=True,
                    hint=f"see that pip can install from here (`pip config list`); all it said is in {log}",
                ) from error


def main(arguments: Sequence[str]) -> int:
    options = parse_arguments(arguments)
    targets = [
        Target(python=line, arch=Arch(arch))
        for line in options.python or LINES
        for arch in options.arch or [arch.value for arch in Arch]
    ]
    try:
        with open_progress(sys.stderr, SystemClock()) as progress:
            build(repository(), targets, options.output, progress, interpreters=options.interpreter)
    except FlexError as error:
        sys.stderr.write(f"error: {error.message}\n  code: {error.code}\n  next: {error.hint}\n")
        return exit_code(error)
    return 0


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", action="append", choices=LINES, help="several are possible")
    parser.add_argument(
        "--arch", action="append", choices=[arch.value for arch in Arch], help="several are possible"
    )
    parser.add_argument(
        "--interpreter", action="append", default=[], metavar="PATH", help="a Python to compile its line with"
    )
    parser.add_argument("--output", type=Path, default=Path("dist"), help="default: dist")
    return parser.parse_args(arguments)


def build(
    source: Path,
    targets: Sequence[Target],
    output: Path,
    progress: Progress,
    *,
    interpreters: Sequence[str] = (),
) -> list[Path]:
    """Make archives of the tree at `source`; each appears in `output` whole or not at all."""
    requirements = (source / "requirements/runtime.txt").read_text()
    revision = find_revision(source)
    output.mkdir(parents=True, exist_ok=True)
    archives = []
    for target in targets:
        wheels = ensure(Wheels(target=target, requirements=requirements), cache_dir() / "dist", progress)
        with progress.step(f"pack {target.name(revision.version)}"):
            files = collect(source, target, revision, [wheels.path(name) for name in sorted(wheels.files)])
            check_machine(files, target)
            interpreter, patch = find_interpreter(target.python, interpreters)
            if interpreter:
                files |= compile_modules(files, interpreter)
            else:
                progress.note(f"no bytecode: there is no Python {target.python} here")
            files[MANIFEST] = render_manifest(files, target, revision, patch)
            archives.append(write_archive(output, target.name(revision.version), files))
    shutil.copyfile(source / "scripts/install.sh", output / "install.sh")
    (output / "install.sh").chmod(0o755)
    write_sums(output)
    return archives


def collect(source: Path, target: Target, revision: Revision, wheels: Sequence[Path]) -> Files:
    """Every file of the archive but bytecode and manifest, by its path in it."""
    packaging, scripts = source / "packaging", source / "scripts"
    files = {
        "LICENSE": (source / "LICENSE").read_bytes(),
        "start.py": (packaging / "start.py").read_bytes(),
        f"bin/{PROGRAM}": (packaging / PROGRAM).read_bytes().replace(b"@PYTHON@", target.python.encode()),
        "install.sh": (scripts / "install.sh").read_bytes(),
        "uninstall.sh": (scripts / "uninstall.sh").read_bytes(),
        **{f"systemd/{unit.name}": unit.read_bytes() for unit in packaging.glob("*.service")},
        **{path: render_completion(shell) for shell, path in COMPLETIONS.items()},
        **read_product(source / "src/flexnode"),
    }
    if revision.commit:
        files["lib/flexnode/COMMIT"] = f"{revision.commit}\n".encode()
    for wheel in wheels:
        files |= read_wheel(wheel)
    if strange := sorted(name for name in files if not PLAIN_NAME.fullmatch(name)):
        raise refused(f"these names could not be checked by install.sh: {', '.join(strange)}")
    return files


def read_product(package: Path) -> Files:
    """The product's own package, and nothing of the laboratory."""
    return {
        f"lib/{path.relative_to(package.parent)}": path.read_bytes()
        for path in package.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }


def read_wheel(path: Path) -> Files:
    """What of a wheel goes into an archive, with its licences, without which it may not be passed on."""
    files = {}
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            place = None if name.endswith("/") else place_member(name)
            if place:
                files[place] = wheel.read(name)
    if not any(name.startswith("LICENSES/") for name in files):
        raise refused(f"{path.name} holds no licence")
    return files


def place_member(name: str) -> str | None:
    """Where a member of a wheel goes; None: nowhere."""
    top, _, rest = name.partition("/")
    if top.endswith(".data"):
        raise refused(f"{name} wants to be installed, not only unpacked")
    if not top.endswith(".dist-info"):
        return f"lib/{name}"
    licence = rest.removeprefix("licenses/")
    if licence != rest or re.match(r"(LICEN[CS]E|COPYING|NOTICE|AUTHORS)", rest):
        return f"LICENSES/{top.removesuffix('.dist-info')}/{licence}"
    return f"lib/{name}" if rest == "METADATA" else None


def check_machine(files: Files, target: Target) -> None:
    """No archive may hold a library of another architecture: it would be found out on somebody's machine."""
    for name, data in files.items():
        if data[:4] == b"\x7fELF" and int.from_bytes(data[18:20], "little") != ELF_MACHINES[target.arch]:
            raise refused(f"{name} is not built for {target.arch}")
    if not any(data[:4] == b"\x7fELF" for data in files.values()):
        raise refused(f"there is no library for {target} among the dependencies")


def render_completion(shell: str) -> bytes:
    """What a shell reads to complete the program's words; the words themselves it asks of the program."""
    variable = f"_{PROGRAM.replace('-', '_').upper()}_COMPLETE"
    completion = SHELLS[shell](click.Command(PROGRAM), {}, PROGRAM, variable)
    return (completion.source_template % completion.source_vars()).encode()


def find_interpreter(line: str, named: Sequence[str]) -> tuple[str, str | None]:
    """A Python of that line and its full version: one that was named before the one that runs this."""
    for candidate in (*named, sys.executable, f"python{line}", f"/usr/bin/python{line}"):
        program = shutil.which(candidate)
        try:
            patch = run(Command(argv=(program, "-IS", "-c", ASK_VERSION))).text.strip() if program else ""
        except CommandError:  # a stand-in on PATH for something that is not installed
            continue
        if patch.startswith(f"{line}."):
            return str(program), patch
    return "", None


ASK_VERSION = "import sys; print('.'.join(map(str, sys.version_info[:3])))"


def compile_modules(files: Files, interpreter: str) -> Files:
    """Bytecode that is used without a look at its source's time, which differs from machine to machine."""
    modules = {name: data for name, data in files.items() if name.startswith("lib/") and name.endswith(".py")}
    with tempfile.TemporaryDirectory() as scratch:
        for name, data in modules.items():
            path = Path(scratch, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        words = ("-q", "-o", "0", "--invalidation-mode", "unchecked-hash", "lib")
        run(Command(argv=(interpreter, "-I", "-m", "compileall", *words), cwd=Path(scratch), timeout=600))
        return {str(path.relative_to(scratch)): path.read_bytes() for path in Path(scratch).rglob("*.pyc")}


def render_manifest(files: Files, target: Target, revision: Revision, bytecode: str | None) -> bytes:
    """What the archive is, and the digest of every other file in it: one per line, for install.sh."""
    manifest = {
        "format": 1,
        "version": revision.version,
        "commit": revision.commit,
        "modified": revision.modified,
        "python": target.python,
        "arch": target.arch.value,
        "bytecode": bytecode,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    return (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode()


def write_archive(output: Path, name: str, files: Files) -> Path:
    items = (
        Item(name=f"{name}/{path}", mode=0o755 if path in EXECUTABLE else 0o644, data=data)
        for path, data in files.items()
    )
    archive = output / f"{name}.tar.gz"
    draft = output / f".{archive.name}.draft"
    try:
        with draft.open("wb") as stream:
            write_tar_gz(stream, items)
        draft.replace(archive)
    finally:
        draft.unlink(missing_ok=True)
    return archive


def write_sums(output: Path) -> None:
    """List everything that lies in `output`, also what an earlier run made."""
    names = [path.name for path in sorted(output.glob(f"{PROGRAM}-*.tar.gz"))]
    lines = [f"{file_sha256(output / name)}  {name}\n" for name in (*names, "install.sh")]
    (output / "SHA256SUMS").write_text("".join(lines))


def find_revision(source: Path) -> Revision:
    text = (source / "src/flexnode/__init__.py").read_text()
    version = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if not version:
        raise refused("src/flexnode/__init__.py names no version")
    git = ("git", "-C", str(source), "-c", "safe.directory=*")
    try:
        commit = run(Command(argv=(*git, "rev-parse", "HEAD"))).text.strip()
        shipped = ("src/flexnode", "packaging", "scripts", "requirements", "LICENSE")
        changes = run(Command(argv=(*git, "status", "--porcelain", "--", *shipped))).text.strip()
    except CommandError:  # an unpacked tree, or no git here
        return Revision(version=version[1], commit="", modified=False)
    return Revision(version=version[1], commit=commit, modified=bool(changes))


def refused(problem: str) -> LabError:
    return LabError(problem, code="dist/refused", hint="no archive was written; mend that and run it again")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
