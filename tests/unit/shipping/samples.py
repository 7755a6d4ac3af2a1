"""Small archives that install like real ones, and root file systems to install them into."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from flexlab.parts.toolchain import machine_arch
from flexlab.paths import repository
from flexnode.host import Command, Completed, run
from flexnode.model import Arch

PROGRAM = "aks-flex-node"
LINE = "{}.{}".format(*sys.version_info[:2])
OTHER_LINE = "3.12" if LINE != "3.12" else "3.13"
ELF_MACHINES = {Arch.AMD64: b"\x3e\x00", Arch.ARM64: b"\xb7\x00"}


def load_builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_dist", repository() / "scripts/build_dist.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # the types in it are looked up there
    spec.loader.exec_module(module)
    return module


builder = load_builder()


def small_files(
    version: str, python: str = LINE, arch: Arch | None = None, bytecode: str | None = "any"
) -> dict[str, bytes]:
    """An archive with everything that the scripts touch, and a program that only knows its version."""
    source = repository()
    target = builder.Target(python=python, arch=arch or machine_arch())
    launcher = (source / f"packaging/{PROGRAM}").read_bytes().replace(b"@PYTHON@", python.encode())
    files = {
        f"bin/{PROGRAM}": launcher,
        "start.py": f"print('{version}')\n".encode(),
        "lib/flexnode/__init__.py": f"__version__ = '{version}'\n".encode(),
        **{name: (source / "scripts" / name).read_bytes() for name in ("install.sh", "uninstall.sh")},
        **{f"systemd/{unit.name}": unit.read_bytes() for unit in (source / "packaging").glob("*.service")},
        **{path: builder.render_completion(shell) for shell, path in builder.COMPLETIONS.items()},
    }
    revision = builder.Revision(version=version, commit="", modified=False)
    files[builder.MANIFEST] = builder.render_manifest(files, target, revision, bytecode)
    return files


def unpack(folder: Path, files: dict[str, bytes]) -> Path:
    """The files as they lie there once an archive is unpacked."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if name in builder.EXECUTABLE else 0o644)
    return folder


@dataclass(frozen=True, kw_only=True, slots=True)
class Root:
    """The root file system of a machine that does not run."""

    path: Path

    @property
    def home(self) -> Path:
        return self.path / "opt" / PROGRAM

    def run(self, script: Path, *words: str | Path, expect: tuple[int, ...] = (0,)) -> Completed:
        argv = ("sh", str(script), "--root", str(self.path), *map(str, words))
        return run(Command(argv=argv, expect=expect))

    def install(self, unpacked: Path, *words: str | Path) -> str:
        return self.run(unpacked / "install.sh", *words).text

    def uninstall(self, unpacked: Path, *words: str | Path) -> str:
        return self.run(unpacked / "uninstall.sh", *words).text

    def refuse(self, script: Path, *words: str | Path, code: int = 1) -> str:
        """What the script says when it refuses; it has changed nothing."""
        before = self.snapshot()
        said = self.run(script, *words, expect=(code,)).stderr.decode()
        assert self.snapshot() == before
        return said

    def write(self, path: str, text: str, mode: int = 0o644) -> Path:
        place = self.path / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)
        return place

    def snapshot(self, *, times: bool = False) -> dict[str, Any]:
        """All that lies there, with what a user would notice of it."""
        found: dict[str, Any] = {}
        for path in sorted(self.path.rglob("*")):
            stat = path.lstat()
            name = str(path.relative_to(self.path))
            time = stat.st_mtime_ns if times and not path.is_dir() else 0
            if path.is_symlink():
                found[name] = ("link", str(path.readlink()), time)
            elif path.is_dir():
                found[name] = ("folder", oct(stat.st_mode), time)
            else:
                found[name] = ("file", oct(stat.st_mode), path.read_bytes(), time)
        return found

    def version(self) -> str:
        """The version that would run now; it is whole."""
        current = self.home / "current"
        files = json.loads((current / builder.MANIFEST).read_text())["files"]
        for name, digest in files.items():
            assert hashlib.sha256((current / name).read_bytes()).hexdigest() == digest, name
        return (current / "start.py").read_text().split("'")[1]

    def versions(self) -> list[str]:
        return sorted(path.name.partition("-")[0] for path in (self.home / "versions").iterdir())


def make_root(path: Path, python: str = LINE, arch: Arch | None = None) -> Root:
    """A machine with one Python; of the interpreter only its header is there, since nothing runs."""
    program = path / f"usr/bin/python{python}"
    program.parent.mkdir(parents=True)
    program.write_bytes(b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + ELF_MACHINES[arch or machine_arch()])
    program.chmod(0o755)
    (path / "usr/bin/python3").symlink_to(program.name)
    (path / "etc").mkdir()
    return Root(path=path)
