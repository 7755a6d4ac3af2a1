"""Fill a directory that any web server can serve as a mirror."""

from __future__ import annotations

import os
from pathlib import Path

from flexnode.artifacts import (
    MANIFEST,
    Manifest,
    Store,
    merge_manifests,
    parse_manifest,
    render_manifest,
)
from flexnode.artifacts.store import fsync_directory, hold_directory, translate_disk_errors
from flexnode.clock import Clock
from flexnode.flows.selection import Access, Gathered, Selection, fetch_into, select
from flexnode.progress import Progress


def fill_mirror(
    root: Path, selection: Selection, access: Access, *, clock: Clock, progress: Progress
) -> Gathered:
    """Fetch what is selected into `root`, beside what earlier runs put there; return what it now lists."""
    selected = select(selection)
    load_manifest(root)  # one that cannot be read is told before anything is fetched
    fetched = fetch_into(Store(root), selected, access, clock=clock, progress=progress)
    new = Manifest(catalog=selected.catalog.version, kubernetes=selected.kubernetes, files=fetched.files)
    with hold_directory(root, MANIFEST, wait=True):  # another run may have listed more in the meantime
        manifest = merge_manifests(load_manifest(root), new)
        _save_manifest(root, manifest)
    return Gathered(manifest=manifest, left_out=fetched.left_out)


def load_manifest(root: Path) -> Manifest | None:
    """What `root` lists; None if nobody has filled it yet."""
    path = root / MANIFEST
    with translate_disk_errors(path, MANIFEST, missing=lambda: None):
        try:
            return parse_manifest(path.read_bytes(), str(path))
        except FileNotFoundError:
            return None


def _save_manifest(root: Path, manifest: Manifest) -> None:
    temporary = root / f".{MANIFEST}.partial"
    with translate_disk_errors(root, MANIFEST, missing=lambda: None):
        try:
            with temporary.open("wb") as file:
                file.write(render_manifest(manifest))
                file.flush()
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
            temporary.rename(root / MANIFEST)
            fsync_directory(root)
        finally:
            temporary.unlink(missing_ok=True)
