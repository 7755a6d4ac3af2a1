"""Make a base image: a stock Debian as a disk, its kernel, and the initrd to boot it with."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from flexlab.base.contents import EARLY_FILES, ROOT_UUID, Contents
from flexlab.base.initrd import build_initrd
from flexlab.base.sources import derive_sources, render_one_line
from flexlab.errors import LabError
from flexlab.model import Suite
from flexlab.paths import cache_dir
from flexnode.host import Command, run
from flexnode.host.apt_sources import AptSource, load_sources
from flexnode.progress import Progress

SMALLEST_GIB = 2
"""The size of the disk that all others are grown from; a system takes about 400 MiB of it."""

_VERSION = 1  # raise it when this module makes something else of the same contents
_TIMEOUT = 1800.0
_APT_OPTIONS = (
    "Acquire::http::Proxy",
    "Acquire::https::Proxy",
    "Acquire::Check-Valid-Until",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    """A stock system, ready to boot. Its disk is never written to: machines lay their own over it."""

    folder: Path
    suite: Suite

    @property
    def disk(self) -> Path:
        """The smallest disk; `ensure_disk` gives larger ones."""
        return self.folder / f"disk-{SMALLEST_GIB}g.raw"

    @property
    def kernel(self) -> Path:
        return self.folder / "vmlinuz"

    @property
    def initrd(self) -> Path:
        return self.folder / "initrd"

    @classmethod
    def of(cls, disk: Path) -> Base:
        """The base that a disk belongs to."""
        return cls(folder=disk.parent, suite=Suite(disk.parent.name.partition("-")[0]))


def ensure_base(suite: Suite, *, progress: Progress) -> Base:
    """The base image of that suite: the kept one, or made now from the machine's own Debian archive."""
    contents = Contents(suite=suite)
    base = Base(folder=_bases() / f"{suite}-{_render_key(contents)}", suite=suite)
    if base.folder.is_dir():
        return base
    with _locked(base.folder, progress):
        if not base.folder.is_dir():
            _make(base, contents, progress)
    return base


def ensure_disk(base: Base, gib: int, *, progress: Progress) -> Path:
    """The base's disk with room for `gib` GiB, grown here once, so that no machine spends a boot on it."""
    if gib < SMALLEST_GIB:
        raise LabError(
            f"a machine needs a disk of at least {SMALLEST_GIB} GiB, not {gib}",
            code="lab/disk-too-small",
            hint="to test a full disk, fill it",
        )
    disk = base.folder / f"disk-{gib}g.raw"
    if disk.exists():
        return disk
    with _locked(disk, progress):
        if not disk.exists():
            draft = disk.with_suffix(".draft")
            run(Command(argv=("cp", "--sparse=always", str(base.disk), str(draft)), timeout=300))
            run(Command(argv=("truncate", f"--size={gib}G", str(draft))))
            run(Command(argv=("resize2fs", str(draft)), timeout=300))
            draft.rename(disk)
    return disk


def list_archive_hosts() -> list[str]:
    """The hosts of the Debian archives that base images come from: what their machines' apt will ask."""
    sources = load_sources()
    uris = {source.uri for suite in Suite for source in derive_sources(sources, suite)}
    return sorted({host for uri in uris if (host := urlsplit(uri).hostname)})


def _bases() -> Path:
    return cache_dir() / "base"


def _render_key(contents: Contents) -> str:
    inputs = {
        "version": _VERSION,
        "files": {**EARLY_FILES, **contents.files},
        **asdict(contents),
    }
    return hashlib.sha256(msgspec.json.encode(inputs, order="deterministic")).hexdigest()[:12]


def _make(base: Base, contents: Contents, progress: Progress) -> None:
    draft = _bases() / f".making-{base.folder.name}"
    shutil.rmtree(draft, ignore_errors=True)  # what a killed maker left
    root = draft / "root"
    draft.mkdir(parents=True)
    try:
        sources = derive_sources(load_sources(), contents.suite)
        with progress.step(f"install Debian {contents.suite}"):
            _install(root, draft, contents, sources)
        _configure(root, contents, sources)
        with progress.step("write its disk"):
            _write_disk(root, draft / base.disk.name)
        kernel = next((root / "boot").glob("vmlinuz-*"))
        shutil.copyfile(kernel, draft / base.kernel.name)
        (draft / base.initrd.name).write_bytes(build_initrd(root))
        shutil.rmtree(root)
        draft.rename(base.folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _install(root: Path, draft: Path, contents: Contents, sources: list[AptSource]) -> None:
    early = draft / "early"
    _write_files(early, EARLY_FILES)
    argv = (
        "mmdebstrap",
        "--quiet",
        "--mode=root",
        "--variant=minbase",
        f"--include={','.join(contents.packages)}",
        "--aptopt=APT::Install-Recommends false",
        "--aptopt=Acquire::Languages none",
        *(f"--aptopt={name} {value}" for name, value in _apt_settings().items()),
        *(f"--dpkgopt={option}" for option in contents.dpkg_options),
        f"--essential-hook=sync-in {early} /",
        contents.suite.value,
        str(root),
        *(line for source in sources for line in render_one_line(source)),
    )
    run(Command(argv=argv, timeout=_TIMEOUT))


def _apt_settings() -> dict[str, str]:
    """What apt on this machine was told about reaching its archive."""
    dump = run(Command(argv=("apt-config", "dump", "--no-empty", *_APT_OPTIONS))).text
    pairs = (line.rstrip(";").split(" ", 1) for line in dump.splitlines())
    return {name: value for name, value in pairs if name in _APT_OPTIONS}


def _configure(root: Path, contents: Contents, sources: list[AptSource]) -> None:
    _write_files(root, contents.files)
    _write_apt_configuration(root, sources)
    for name in contents.masked:
        link = root / "etc/systemd/system" / name
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    run(Command(argv=("systemctl", f"--root={root}", "--quiet", "enable", *contents.enabled)))
    for pattern in ("etc/hostname", "etc/ssh/ssh_host_*", "var/lib/systemd/random-seed", "var/log/*.log"):
        for path in root.glob(pattern):
            path.unlink()
    # Compiling the profiles that the apparmor package ships takes an emulated machine up to a minute. The
    # kernel still enforces AppArmor, and the parser is there for whoever brings a profile of its own.
    for profile in (root / "etc/apparmor.d").iterdir():
        if profile.is_file():
            profile.unlink()
    (root / "var/log/journal").mkdir(exist_ok=True)  # keeps the journal over a reboot


def _write_apt_configuration(root: Path, sources: list[AptSource]) -> None:
    (root / "etc/apt/apt.conf.d/99mmdebstrap").unlink()
    (root / "etc/apt/sources.list").unlink()
    options = {
        "Acquire::Languages": '"none"',
        # Not the proxy: which one to ask is decided by the lab the machine is in.
        **{name: value for name, value in _apt_settings().items() if not name.endswith("Proxy")},
    }
    text = "\n\n".join(source.render().rstrip("\n") for source in sources)
    _write_files(
        root,
        {
            "etc/apt/apt.conf.d/90flexlab": "".join(f"{name} {value};\n" for name, value in options.items()),
            "etc/apt/sources.list.d/debian.sources": f"{text}\n",
        },
    )
    for key in {Path(source.signed_by) for source in sources if source.signed_by.startswith("/")}:
        inside = root / key.relative_to("/")
        if not inside.exists():
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(key, inside)


def _write_files(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _write_disk(root: Path, disk: Path) -> None:
    argv = ("mke2fs", "-q", "-t", "ext4", "-L", "root", "-U", ROOT_UUID, "-d", str(root))
    run(Command(argv=(*argv, str(disk), f"{SMALLEST_GIB}G"), timeout=300))


@contextmanager
def _locked(place: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock of something that is being made; the kernel lets go of it when its holder ends."""
    path = _bases() / "locks" / f"{place.name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with progress.step(f"wait for another process that makes {place.name}"):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
