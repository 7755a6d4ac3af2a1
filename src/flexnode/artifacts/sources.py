"""Where files come from, by the way a source is written:

https://host/path, http://…   a mirror: <base>/sha256/<hex>
vendor                        where the artifact's vendor publishes it
DIR                           a directory of the same layout, as `artifacts mirror` fills it
FILE                          an offline bundle, as `artifacts bundle` makes it
oci://host[:port]/repository  a registry: its blobs, by digest (oci+http:// without TLS)
oci-layout:DIR                an OCI image layout on disk: blobs/sha256/<hex>
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias
from urllib.parse import unquote, urlsplit

from flexnode.artifacts.bundle import BundleIndex, read_index
from flexnode.artifacts.failures import Code, failure, malformed_source
from flexnode.artifacts.proxies import redact
from flexnode.artifacts.settings import HttpSettings, Login
from flexnode.artifacts.stream import Offer, Source, Stream
from flexnode.clock import Clock
from flexnode.model import Artifact
from flexnode.secret import Secret

if TYPE_CHECKING:
    from flexnode.artifacts.http import HttpDoor

READ = 1 << 18

Door: TypeAlias = "Callable[[], HttpDoor]"


@dataclass(frozen=True, kw_only=True, slots=True)
class WebOffer:
    """A file behind a URL."""

    url: str
    door: HttpDoor
    login: Login | None = None

    @property
    def place(self) -> str:
        return redact(self.url)

    def open(self, offset: int) -> AbstractContextManager[Stream]:
        return self.door.get_file(self.url, offset, login=self.login)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileOffer:
    """A file on a disk, or a part of one."""

    path: Path
    start: int = 0
    size: int | None = None
    label: str = ""

    @property
    def place(self) -> str:
        return self.label or str(self.path)

    @contextmanager
    def open(self, offset: int) -> Iterator[Stream]:
        try:
            file = self.path.open("rb")
        except FileNotFoundError as error:
            raise failure(Code.NOT_FOUND, "no such file") from error
        except OSError as error:
            raise failure(Code.UNREADABLE, str(error.strerror or error)) from error
        with file:
            total = file.seek(0, 2) if self.size is None else self.size
            begin = offset if offset <= total else 0
            file.seek(self.start + begin)
            yield Stream(chunks=_read(file, total - begin), offset=begin, total=total)


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingOffer:
    """A place that is known not to hold the file, so that an error can list it among the others."""

    place: str

    @contextmanager
    def open(self, offset: int) -> Iterator[Stream]:
        raise failure(Code.NOT_FOUND, "does not hold it")
        yield


@dataclass(frozen=True, kw_only=True, slots=True)
class Mirror:
    """A web server with the layout of a store."""

    base: str
    door: HttpDoor
    login: Login | None = None

    def offers(self, artifact: Artifact) -> tuple[Offer, ...]:
        url = f"{self.base.rstrip('/')}/sha256/{artifact.sha256}"
        return (WebOffer(url=url, door=self.door, login=self.login),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Vendor:
    """The places that the artifact itself names."""

    door: HttpDoor

    def offers(self, artifact: Artifact) -> tuple[Offer, ...]:
        return tuple(WebOffer(url=url, door=self.door) for url in artifact.urls)


@dataclass(frozen=True, kw_only=True, slots=True)
class Directory:
    """A directory with the layout of a store, or with that of an OCI image layout."""

    files: Path

    def offers(self, artifact: Artifact) -> tuple[Offer, ...]:
        return (FileOffer(path=self.files / artifact.sha256),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bundle:
    """One offline bundle file; its table of contents is read once."""

    path: Path
    index: BundleIndex

    def offers(self, artifact: Artifact) -> tuple[Offer, ...]:
        label = f"{self.path} (bundle)"
        entry = self.index.files.get(artifact.sha256)
        if entry is None:
            return (MissingOffer(place=label),)
        return (FileOffer(path=self.path, start=entry.offset, size=entry.size, label=label),)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenSources:
    """Sources in the order in which they are asked, and the one HTTP client that they share."""

    sources: tuple[Source, ...]
    _doors: list[HttpDoor] = field(default_factory=list, repr=False)

    def __enter__(self) -> tuple[Source, ...]:
        return self.sources

    def __exit__(self, *_: object) -> None:
        for door in self._doors:
            door.close()


def open_sources(texts: Sequence[str], *, settings: HttpSettings, clock: Clock) -> OpenSources:
    """The sources that `texts` name, for a `with` block; an HTTP client only if one of them needs it."""
    doors: list[HttpDoor] = []

    def one_door() -> HttpDoor:
        if not doors:
            from flexnode.artifacts.http import HttpDoor

            doors.append(HttpDoor(settings, clock))
        return doors[0]

    return OpenSources(sources=tuple(parse_source(text, one_door) for text in texts), _doors=doors)


def parse_source(text: str, door: Door) -> Source:
    """The source that `text` names. A path must exist; whether a server does shows at the first file."""
    if text == "vendor":
        return Vendor(door=door())
    if text.startswith("oci-layout:"):
        layout = Path(text.removeprefix("oci-layout:"))
        if not os.path.isfile(layout / "oci-layout"):
            raise failure(
                Code.BAD_SOURCE, f"{layout} is not an OCI image layout: it holds no file oci-layout"
            )
        return Directory(files=layout / "blobs" / "sha256")
    scheme, separator, _ = text.partition("://")
    if not separator:
        return _parse_path(Path(text))
    if scheme == "file":
        return _parse_path(Path(unquote(urlsplit(text).path)))
    base, login = _split_login(text)
    if scheme in ("http", "https"):
        return Mirror(base=base, door=door(), login=login)
    if scheme in ("oci", "oci+http"):
        from flexnode.artifacts.registry import Registry

        return Registry.parse(base, door(), login)
    raise malformed_source(f"{redact(text)!r} is not a source")


def _parse_path(path: Path) -> Source:
    if path == Path():  # nothing at all was named, and `.` is hardly meant
        raise malformed_source("an empty text is not a source; the current directory is $PWD")
    # os.path answers no where a path cannot even be looked at: too long, or in a directory that is closed.
    if os.path.isdir(path):
        return Directory(files=path / "sha256")
    if os.path.isfile(path):
        return Bundle(path=path, index=read_index(path))
    raise failure(Code.BAD_SOURCE, f"{path} is neither a directory nor a bundle file, nor any other source")


def _split_login(url: str) -> tuple[str, Login | None]:
    try:
        parts = urlsplit(url)
        valid = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise malformed_source(f"{redact(url)!r} is not a URL")
    if parts.username is None:
        return url, None
    user, password = unquote(parts.username), Secret(unquote(parts.password or ""))
    return redact(url), Login(user=user, password=password)


def _read(file: BinaryIO, count: int) -> Iterator[bytes]:
    while count > 0:
        try:
            chunk = file.read(min(READ, count))
        except OSError as error:
            raise failure(Code.UNREADABLE, str(error.strerror or error)) from error
        if not chunk:
            raise failure(Code.TRUNCATED, "ended before the whole file was read")
        count -= len(chunk)
        yield chunk
