#!/usr/bin/env python3
"""Adds versions to the shipped catalog, and writes it in its one canonical form.

    update_catalog.py digests FILE      published digests that somebody collected:
                                        {"components": {NAME: {"versions": {VERSION: {ARCH: "sha256:HEX"}},
                                                               "also_built_from_source": [VERSION, ...]}}}
    update_catalog.py files DIR         downloaded files, as DIR/COMPONENT/VERSION/ARCH/ANY-NAME: records the
                                        digest and size of each, and the digests of what an archive installs
    update_catalog.py source COMPONENT VERSION [MODULE-VERSION]
                                        a version that can be built from its Go module
    update_catalog.py format            only write it anew; with --check, only say whether that is needed

What is published never changes, so a digest that contradicts the catalog is refused, and nothing is written.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tarfile
import zlib
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec

import flexnode.catalog
from flexnode.catalog.document import (
    Component,
    Document,
    ReleaseFile,
    VersionEntry,
    decode_document,
    fill,
    parse_document,
    render_catalog,
)
from flexnode.catalog.layout import version_key
from flexnode.errors import CatalogError
from flexnode.model.artifact import Arch, Format

SHIPPED = Path(flexnode.catalog.__file__).with_name("catalog.json")


class PublishedComponent(msgspec.Struct, frozen=True):
    """One component of a file of published digests; what else it says is of no interest here."""

    versions: dict[str, dict[Arch, str]]
    also_built_from_source: list[str] = []


class Published(msgspec.Struct, frozen=True):
    components: dict[str, PublishedComponent]


def main(arguments: list[str]) -> int:
    if any(not word.isprintable() for word in arguments):
        sys.stderr.write("error: a word of the command line holds something that is not text\n")
        return 2
    options = parse_arguments(arguments)
    path: Path = options.catalog
    try:
        before = read_catalog(path)
        after = render_catalog(update(decode_document(before, str(path)), options))
        require_acceptable(after)
        if options.action == "format" and options.check and after != before:
            sys.stderr.write(f"{path.name} is not in its canonical form\n")
            return 1
        if after != before:
            write_catalog(path, after)
    except CatalogError as error:
        sys.stderr.write(f"error: {error.message}\n{error.hint}\n")
        return error.exit_code or 1
    return tell(f"{path.name} is {'up to date' if after == before else 'updated'}\n")


def tell(words: str) -> int:
    try:
        sys.stdout.write(words)
        sys.stdout.flush()
    except OSError as error:
        # The interpreter would flush once more at its end, and complain with a page of Python.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stderr.write(f"error: the output cannot be written: {error.strerror}\n{words}")
        return 1
    return 0


def read_catalog(path: Path) -> bytes:
    return read_file(path)


def require_acceptable(after: bytes) -> None:
    """What was read was a catalog: whatever is wrong with the new one is wrong with the input."""
    try:
        parse_document(after, "the updated catalog")
    except CatalogError as error:
        raise refused(error.message) from error


def write_catalog(path: Path, data: bytes) -> None:
    """Whole, or the old one stays."""
    draft = path.with_name(f".{path.name}.new")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise refused(f"{path} cannot be written: {error.strerror or error}") from error


def read_file(path: Path) -> bytes:
    """A device, or a pipe, may never end."""
    try:
        if path.exists() and not path.is_file():
            raise refused(f"{path} cannot be read: it is not a file")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise refused(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--catalog", type=Path, default=SHIPPED, help="the catalog file to update")
    actions = parser.add_subparsers(dest="action", required=True)
    digests = actions.add_parser("digests", help="import published digests from a file")
    digests.add_argument("file", type=Path)
    files = actions.add_parser("files", help="record downloaded files")
    files.add_argument("folder", type=Path)
    source = actions.add_parser("source", help="record that a version can be built from its Go module")
    source.add_argument("component")
    source.add_argument("version")
    source.add_argument("module_version", nargs="?", help="default: v and the version")
    layout = actions.add_parser("format", help="write the catalog in its canonical form")
    layout.add_argument("--check", action="store_true", help="change nothing; exit 1 if it would change")
    return parser.parse_args(arguments)


def update(document: Document, options: argparse.Namespace) -> Document:
    match options.action:
        case "digests":
            return with_newest_patches(import_digests(document, options.file))
        case "files":
            return with_newest_patches(record_files(document, options.folder))
        case "source":
            version = options.version
            return add_source(document, options.component, version, options.module_version or f"v{version}")
        case _:
            return document


def import_digests(document: Document, path: Path) -> Document:
    try:
        published = msgspec.json.decode(read_file(path), type=Published)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise refused(f"{path} cannot be read: {error}") from error
    for name, component in published.components.items():
        for version, digests in component.versions.items():
            if not digests:
                raise refused(f"{name} {version} has no digest")
            for arch, digest in digests.items():
                algorithm, _, value = digest.partition(":")
                if algorithm != "sha256" or not value:
                    raise refused(f"{name} {version} ({arch}) has no SHA-256 digest: {digest!r}")
                document = add_release(document, name, version, arch, ReleaseFile(sha256=value))
        for version in component.also_built_from_source:
            document = add_source(document, name, version, f"v{version}")
    return document


def record_files(document: Document, folder: Path) -> Document:
    files = sorted(path for path in folder.glob("*/*/*/*") if path.is_file())
    if not files:
        raise refused(f"{folder} holds no file at COMPONENT/VERSION/ARCH/NAME")
    for path in files:
        name, version, arch_name = path.relative_to(folder).parts[:3]
        component = require_component(document, name)
        try:
            arch = Arch(arch_name)
        except ValueError:
            raise refused(f"{path}: {arch_name} is not an architecture") from None
        document = add_release(document, name, version, arch, read_release(component, version, arch, path))
    return document


def read_release(component: Component, version: str, arch: Arch, path: Path) -> ReleaseFile:
    """What the catalog records about the file at `path`."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise refused(f"{path} cannot be read: {error.strerror or error}") from error
    members = {}
    if component.format is Format.TAR_GZ:
        wanted = {fill(member, version, arch) for member in component.members}
        try:
            members = read_members(path, wanted)
        except (tarfile.TarError, zlib.error, OSError, EOFError) as error:
            raise refused(f"{path} is not an archive: {error}") from error
        if missing := sorted(wanted - members.keys()):
            raise refused(f"{path} does not contain {', '.join(missing)}")
    return ReleaseFile(sha256=digest, size=size, members=members)


def read_members(path: Path, wanted: set[str]) -> dict[str, str]:
    members = {}
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            name = str(PurePosixPath(member.name))  # without the "./" that some vendors write
            content = archive.extractfile(member) if name in wanted and member.isfile() else None
            if content is not None:
                members[name] = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]
    return members


def add_release(document: Document, name: str, version: str, arch: Arch, file: ReleaseFile) -> Document:
    """`document` with one more published file; knowledge about a file that it lists already is joined."""
    entry = require_component(document, name).versions.get(version, VersionEntry())
    known = entry.release.get(arch)
    if known is not None:
        if known.sha256 != file.sha256:
            raise refused(
                f"{name} {version} ({arch}) was published with digest {known.sha256}, not {file.sha256}"
            )
        file = ReleaseFile(
            sha256=file.sha256, size=file.size or known.size, members={**known.members, **file.members}
        )
    changed = msgspec.structs.replace(entry, release={**entry.release, arch: file})
    return with_version(document, name, version, changed)


def add_source(document: Document, name: str, version: str, module_version: str) -> Document:
    entry = require_component(document, name).versions.get(version, VersionEntry())
    return with_version(document, name, version, msgspec.structs.replace(entry, source=module_version))


def with_version(document: Document, name: str, version: str, entry: VersionEntry) -> Document:
    component = document.components[name]
    component = msgspec.structs.replace(component, versions={**component.versions, version: entry})
    return msgspec.structs.replace(document, components={**document.components, name: component})


def with_newest_patches(document: Document) -> Document:
    """`document` with each release set at the newest version of which every file of a node is published."""
    followers = [each for each in document.components.values() if each.follows_kubernetes and not each.lab]
    published = set.intersection(
        *({version for version, entry in each.versions.items() if entry.release} for each in followers)
    )
    sets = {}
    for minor, entry in document.release_sets.items():
        patches = [version for version in published if version.startswith(f"{minor}.")]
        newest = max(patches, key=version_key, default=entry.kubernetes)
        sets[minor] = msgspec.structs.replace(entry, kubernetes=newest)
    return msgspec.structs.replace(document, release_sets=sets)


def require_component(document: Document, name: str) -> Component:
    try:
        return document.components[name]
    except KeyError:
        raise refused(
            f"the catalog has no component {name}; it has: {', '.join(sorted(document.components))}"
        ) from None


def refused(problem: str) -> CatalogError:
    return CatalogError(
        problem, code="catalog/refused", hint="nothing was written; mend the input and run it again"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
