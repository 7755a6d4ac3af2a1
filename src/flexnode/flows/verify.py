"""Check every file of a mirror, a store or a bundle against its digest."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flexnode.artifacts import Manifest, Store, digest_of, read_index
from flexnode.artifacts.bundle import digest_in_bundle
from flexnode.errors import UsageError
from flexnode.flows.mirror import load_manifest
from flexnode.progress import Progress


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A file that must not be used."""

    name: str
    sha256: str
    what: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What was found. The manifest does not know `unlisted` files; without one that is all of them."""

    checked: int
    problems: tuple[Problem, ...]
    unlisted: tuple[str, ...]
    listed: bool


def verify(path: Path, *, progress: Progress) -> Report:
    """Hash everything in `path`. A directory without a manifest is checked by the files' names alone."""
    if os.path.isdir(path):
        store, manifest = Store(path), load_manifest(path)
        if manifest is None and not (path / "sha256").is_dir():
            # "As it should be" would be said of an empty variable in a script, too.
            raise UsageError(
                f"{path} is neither a mirror nor a store: it has no manifest.json and no directory sha256",
                hint="name a mirror's directory or a bundle file",
            )
        return _check(
            manifest,
            present=store.digests(),
            digest=lambda sha256: digest_of(store.path(sha256)),
            progress=progress,
        )
    if os.path.isfile(path):
        index = read_index(path)
        return _check(
            index.manifest,
            present=tuple(sorted(index.files)),
            digest=lambda sha256: digest_in_bundle(path, index.files[sha256]),
            progress=progress,
        )
    # os.path answers no, too, where a path cannot even be looked at.
    what = (
        "is neither a directory nor a file" if os.path.exists(path) else "does not exist, or is out of reach"
    )
    raise UsageError(f"{path} {what}", hint="name a mirror's directory or a bundle file")


def _check(
    manifest: Manifest | None,
    *,
    present: tuple[str, ...],
    digest: Callable[[str], str],
    progress: Progress,
) -> Report:
    names = {entry.sha256: entry.name for entry in manifest.entries()} if manifest else {}
    there = set(present)
    problems = []
    with progress.step(f"check {len(present)} files"):
        for number, sha256 in enumerate(sorted({*names, *present}), start=1):
            name = names.get(sha256, "a file that the manifest does not list")
            if what := _find_fault(sha256, sha256 in there, digest):
                problems.append(Problem(name=name, sha256=sha256, what=what))
            progress.note(f"{number} of {len({*names, *present})}")
    return Report(
        checked=len(present),
        problems=tuple(problems),
        unlisted=tuple(sha256 for sha256 in present if sha256 not in names),
        listed=manifest is not None,
    )


def _find_fault(sha256: str, there: bool, digest: Callable[[str], str]) -> str:
    if not there:
        return "is missing"
    try:
        found = digest(sha256)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return "" if found == sha256 else f"is damaged: it has sha256 {found}"
