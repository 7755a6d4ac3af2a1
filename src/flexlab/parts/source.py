"""Building one component from its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from flexlab.errors import LabError
from flexlab.parts.cache import file_sha256
from flexlab.parts.recipes import Recipe
from flexlab.parts.toolchain import (
    BUILD_TIMEOUT,
    Go,
    identify_c_compiler,
    parse_go_version,
    require_go,
    run_logged,
)
from flexnode.host import Command
from flexnode.model import Arch

BUILDER = 1
"""Raised when what this module does to a source changes, so that nothing built before is used again."""

PAUSE_SOURCE = "build/pause/linux/pause.c"
_PAUSE_FLAGS = ("-Os", "-Wall", "-Werror", "-static", "-s", "-Wl,--build-id=none")


class _Downloaded(msgspec.Struct, frozen=True, rename="pascal"):
    dir: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GoBuild:
    """A cache job: all programs of one component, with one `go build`, which shares their common packages."""

    recipe: Recipe
    version: str
    arch: Arch
    folder: Path  # `sources/<component>/<version>`
    go: Go

    @property
    def name(self) -> str:
        return f"{self.recipe.component}-{self.version}"

    @property
    def title(self) -> str:
        return f"build {self.recipe.component} {self.version}"

    def inputs(self) -> Mapping[str, object]:
        inputs: dict[str, object] = {
            "builder": BUILDER,
            "go": self.go.text,
            "arch": self.arch.value,
            "packages": self.recipe.packages,
            "tags": self.recipe.tags,
            "linker": self.recipe.linker_flags(self.version),
            "cgo": self.recipe.cgo,
            "source": digest_source(self.folder),
        }
        if self.recipe.cgo:
            inputs["c"] = identify_c_compiler(self.recipe.libraries)
        return inputs

    def make(self, folder: Path, log: Path) -> None:
        log.unlink(missing_ok=True)
        words = ["build", "-trimpath", "-buildvcs=false", "-ldflags", self.recipe.linker_flags(self.version)]
        if self.recipe.tags:
            words += ["-tags", ",".join(self.recipe.tags)]
        output = folder if self.recipe.packages else folder / self.recipe.program
        words += ["-o", f"{output}/" if self.recipe.packages else str(output), *(self.recipe.packages or ".")]
        run_logged(go_command(self.go, self.arch, self.folder, *words, cgo=self.recipe.cgo), log)
        for binary in self.recipe.binaries:
            (folder / binary).chmod(0o755)


@dataclass(frozen=True, kw_only=True, slots=True)
class PauseBuild:
    """A cache job: the program that holds a pod's namespaces open, a C file inside the Kubernetes module."""

    version: str
    arch: Arch
    folder: Path  # the source folder of Kubernetes
    go: Go

    @property
    def name(self) -> str:
        return f"pause-{self.version}"

    @property
    def title(self) -> str:
        return f"build pause {self.version}"

    def inputs(self) -> Mapping[str, object]:
        return {
            "builder": BUILDER,
            "c": identify_c_compiler(),
            "arch": self.arch.value,
            "version": self.version,
            "source": digest_source(self.folder),
        }

    def make(self, folder: Path, log: Path) -> None:
        log.unlink(missing_ok=True)
        query = go_command(self.go, self.arch, self.folder, "mod", "download", "-json", "k8s.io/kubernetes")
        module = find_module_folder(run_logged(query, log).stdout)
        compile_ = Command(
            argv=(
                "gcc",
                *_PAUSE_FLAGS,
                f"-DVERSION=v{self.version}",
                "-o",
                str(folder / "pause"),
                PAUSE_SOURCE,
            ),
            cwd=module,
            timeout=BUILD_TIMEOUT,
        )
        run_logged(compile_, log)
        (folder / "pause").chmod(0o755)


def require_source(component: str, version: str, sources: Path) -> Path:
    """The folder that pins `component`."""
    folder = sources / component / version
    if (folder / "go.mod").exists():
        return folder
    known = ", ".join(list_versions(component, sources)) or "none"
    raise LabError(
        f"{component} {version} is not pinned in sources/ (there is: {known})",
        code="parts/unknown-version",
        hint=f"pin it: scripts/pin_source.py {component} {version}",
    )


def list_versions(component: str, sources: Path) -> tuple[str, ...]:
    """The versions of `component` that can be built, oldest first."""
    found = [path.parent.name for path in (sources / component).glob("*/go.mod")]
    return tuple(sorted(found, key=lambda version: [int(part) for part in version.split(".")]))


def needed_go(folder: Path) -> tuple[int, ...]:
    """The Go version that the module in `folder` asks for."""
    for line in (folder / "go.mod").read_text().splitlines():
        if line.startswith("go "):
            return parse_go_version(line)
    return ()


def find_go(*folders: Path) -> Go:
    """A Go that can build all of `folders`."""
    return require_go(max(needed_go(folder) for folder in folders))


def find_module_folder(downloaded: bytes) -> Path:
    """Where `go mod download -json` says that the module lies."""
    return Path(msgspec.json.decode(downloaded, type=_Downloaded).dir)


def digest_source(folder: Path) -> dict[str, str]:
    """What is pinned: every file of the source folder by its digest."""
    return {path.name: file_sha256(path) for path in sorted(folder.iterdir()) if path.is_file()}


def go_command(go: Go, arch: Arch, cwd: Path, *words: str, cgo: bool = False) -> Command:
    """A Go command that takes nothing from the user's settings but where modules come from."""
    return Command(
        argv=(go.path, *words),
        cwd=cwd,
        timeout=BUILD_TIMEOUT,
        env={
            "CGO_ENABLED": "1" if cgo else "0",
            "GOFLAGS": "-mod=readonly",
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
            "GOOS": "linux",
            "GOARCH": arch.value,
            "GOAMD64": "v1",
            "GOEXPERIMENT": "",
        },
    )
