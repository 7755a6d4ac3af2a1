"""Debian packages with everything they need beyond a minimal system, each by its digest.

Resolved by apt itself, in a private directory that pretends to be an empty machine: what a minimal Debian
(its essential and required packages) needs is subtracted from what minimal Debian and the wanted packages
need together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from flexnode.artifacts import PackageEntry, Store
from flexnode.errors import FlexError
from flexnode.host import Command, Completed
from flexnode.host.apt_sources import AptSource
from flexnode.model import Arch

MINIMAL = "?or(?essential,?priority(required))"
"""The base that every Debian has, in apt's pattern language."""

_URI_LINE = re.compile(r"'(?P<uri>[^']+)' (?P<file>\S+) (?P<size>\d+) SHA256:(?P<sha256>[0-9a-f]{64})")

Run = Callable[[Command], Completed]


@dataclass(frozen=True, kw_only=True, slots=True)
class Apt:
    """apt in a directory of its own: it reads nothing and changes nothing of this machine's packages."""

    root: Path
    run: Run

    def prepare(self, arch: Arch, sources: Sequence[AptSource]) -> None:
        """Make the directory and fetch the archive's indexes."""
        for name in (
            "etc/sources.list.d",
            "etc/apt.conf.d",
            "etc/preferences.d",
            "lists/partial",
            "archives/partial",
        ):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "status").touch()
        stanzas = "\n".join(source.render() for source in sources)
        (self.root / "etc/sources.list.d/debian.sources").write_text(stanzas)
        config = self._proxy_settings() + _CONFIG.format(root=self.root, arch=arch.value)
        (self.root / "apt.conf").write_text(config)
        self._run("apt-get", "update", "--quiet", "--error-on=any", timeout=300)

    def list_needed(self, packages: Iterable[str]) -> tuple[str, ...]:
        """The lines that name what an empty machine would download to have these packages."""
        done = self._run("apt-get", "install", "--print-uris", "-qq", "--yes", *packages)
        return tuple(line for line in done.text.splitlines() if line.startswith("'"))

    def download(self, packages: Iterable[str]) -> Path:
        """Download packages, written NAME:ARCH=VERSION; return the folder."""
        folder = self.root / "archives"
        self._run("apt-get", "download", "--quiet", *packages, timeout=1800, cwd=folder)
        return folder

    def _proxy_settings(self) -> str:
        """How this machine's own apt reaches its archive: proxies, certificates, time limits."""
        done = self.run(Command(argv=("apt-config", "dump", "--format", '%f "%v";\n', "Acquire")))
        wanted = ("Acquire::http::", "Acquire::https::")
        lines = [line for line in done.text.splitlines() if line.startswith(wanted) and '""' not in line]
        return "".join(f"{line}\n" for line in lines)

    def _run(self, *argv: str, timeout: float = 120, cwd: Path | None = None) -> Completed:
        command = Command(
            argv=argv, timeout=timeout, cwd=cwd, env={"APT_CONFIG": str(self.root / "apt.conf")}
        )
        return self.run(command)


# A `Dir::Etc` of its own keeps the hooks in the machine's apt.conf.d out: some of them empty its caches.
_CONFIG = """\
Dir "{root}/";
Dir::Etc "{root}/etc/";
Dir::State "{root}/";
Dir::State::lists "{root}/lists/";
Dir::State::status "{root}/status";
Dir::Cache "{root}/";
Dir::Cache::archives "{root}/archives/";
Dir::Log "{root}/log/";
Dir::Etc::trusted "/etc/apt/trusted.gpg";
Dir::Etc::trustedparts "/etc/apt/trusted.gpg.d/";
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::ForceHash "SHA256";
"""


def collect_packages(
    apt: Apt, store: Store, *, suite: str, arch: Arch, packages: Sequence[str], sources: Sequence[AptSource]
) -> tuple[PackageEntry, ...]:
    """Bring `packages` and what they need beyond a minimal system into `store`; return their entries."""
    apt.prepare(arch, sources)
    base = set(apt.list_needed([MINIMAL]))
    needed = [line for line in apt.list_needed([MINIMAL, *packages]) if line not in base]
    entries = tuple(sorted((parse_uri_line(line, suite) for line in needed), key=lambda entry: entry.name))
    missing = [entry for entry in entries if store.find(entry.sha256) is None]
    if missing:
        folder = apt.download(f"{entry.package}:{arch}={entry.version}" for entry in missing)
        for entry in missing:
            store.add(_find_download(folder, entry), entry.sha256)
    return entries


def parse_uri_line(line: str, suite: str) -> PackageEntry:
    """A line of `apt-get --print-uris`: 'URI' FILE SIZE SHA256:DIGEST."""
    found = _URI_LINE.fullmatch(line.strip())
    parts = unquote(found["file"]).removesuffix(".deb").split("_") if found else []
    if found is None or len(parts) != 3:
        raise FlexError(
            f"apt names a package without a SHA-256 digest: {line}",
            code="bundle/no-package-digest",
            hint="use an archive whose index carries SHA-256 digests, as every Debian archive does",
        )
    package, version, arch = parts
    return PackageEntry(
        package=package,
        version=version,
        arch=arch,
        suite=suite,
        filename=os.path.basename(unquote(found["uri"])),
        sha256=found["sha256"],
        size=int(found["size"]),
    )


def _find_download(folder: Path, entry: PackageEntry) -> Path:
    """The file that apt wrote: it encodes the version's colon and nothing else."""
    return folder / f"{entry.package}_{entry.version.replace(':', '%3a')}_{entry.arch}.deb"
