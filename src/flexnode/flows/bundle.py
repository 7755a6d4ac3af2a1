"""Make one file that holds everything a node needs, for machines that reach no network."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flexnode.artifacts import Code, Manifest, PackageEntry, Store, render_size, write_bundle
from flexnode.artifacts.store import hold_directory
from flexnode.clock import Clock
from flexnode.components.time_sync import PACKAGE as TIME_SYNC
from flexnode.errors import FlexError, UsageError
from flexnode.flows.apt_sources import source_at, sources_for
from flexnode.flows.debian import Apt, Run, collect_packages
from flexnode.flows.selection import Access, Gathered, Selected, Selection, fetch_into, select
from flexnode.host.apt_sources import load_sources
from flexnode.progress import Progress


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageChoice:
    """Which Debian packages go into a bundle: those of `suites`, from `mirror` or from this machine's own."""

    suites: tuple[str, ...] = ()
    mirror: str | None = None
    etc: Path = Path("/etc")


def make_bundle(
    path: Path,
    selection: Selection,
    packages: PackageChoice,
    access: Access,
    *,
    run: Run,
    clock: Clock,
    progress: Progress,
) -> Gathered:
    """Write the bundle at `path`, whole or not at all, and return what it holds.

    Files are gathered in a folder beside it. After a transient failure the folder stays, so that the next run
    goes on where this one stopped; otherwise nothing stays but the bundle. While another process makes
    the same bundle: artifact/busy.
    """
    # Asked of os.path, which answers no where a path cannot even be looked at: writing tells why.
    if not path.name or os.path.isdir(path):
        raise UsageError(f"{path} is a directory", hint="name the file to write")
    selected = select(selection)
    # A machine may need a keeper of its time, too: nobody knows here whether it has one.
    lists = {suite: (*selected.catalog.packages(suite), TIME_SYNC) for suite in packages.suites}
    folder = path.with_name(f".{path.name}.parts")
    with hold_directory(folder, path.name, wait=False):
        return _gather(
            path, folder, selected, lists, packages, access, run=run, clock=clock, progress=progress
        )


def _gather(
    path: Path,
    folder: Path,
    selected: Selected,
    lists: Mapping[str, Sequence[str]],
    packages: PackageChoice,
    access: Access,
    *,
    run: Run,
    clock: Clock,
    progress: Progress,
) -> Gathered:
    store = Store(folder)
    try:
        fetched = fetch_into(store, selected, access, clock=clock, progress=progress)
        debs: list[PackageEntry] = []
        for suite, names in lists.items():
            debs += _gather_packages(store, suite, names, selected, packages, run, progress)
        manifest = Manifest(
            catalog=selected.catalog.version,
            kubernetes=selected.kubernetes,
            files=fetched.files,
            packages=tuple(debs),
        )
        with progress.step(f"write {path.name}"):
            write_bundle(path, manifest, store)
            progress.note(render_size(path.stat().st_size))
    except FlexError as error:
        if not error.transient or error.code == Code.NO_SPACE:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder)
    return Gathered(manifest=manifest, left_out=fetched.left_out)


def find_suite(etc: Path = Path("/etc")) -> str:
    """The code name of the release that this machine runs, from os-release; empty if it has none."""
    try:
        lines = (etc / "os-release").read_text().splitlines()
    except FileNotFoundError:
        return ""
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values.get("VERSION_CODENAME", "").strip('"')


def _gather_packages(
    store: Store,
    suite: str,
    names: Sequence[str],
    selected: Selected,
    choice: PackageChoice,
    run: Run,
    progress: Progress,
) -> list[PackageEntry]:
    if choice.mirror is not None:
        sources = source_at(choice.mirror, suite)
    else:
        sources = sources_for(suite, load_sources(choice.etc / "apt"), find_suite(choice.etc))
    found: list[PackageEntry] = []
    for arch in selected.arches:
        with (
            progress.step(f"gather Debian packages of {suite} ({arch})"),
            tempfile.TemporaryDirectory(prefix="aks-flex-node-apt-") as root,
        ):
            apt = Apt(root=Path(root), run=run)
            found += collect_packages(apt, store, suite=suite, arch=arch, packages=names, sources=sources)
            progress.note(f"{len(found)} packages, {render_size(sum(entry.size for entry in found))}")
    return found
