"""The door to files: fetched from any source, verified by digest, or refused.

with open_sources(["https://mirror.example/node", "vendor"], settings=settings, clock=clock) as sources:
    Fetcher(Store(root), sources, clock=clock).fetch_all(artifacts)
"""

from flexnode.artifacts.bundle import read_index, write_bundle
from flexnode.artifacts.failures import Code, LocalFailure, Refusal, combine, render_size
from flexnode.artifacts.fetch import Fetcher, Limits
from flexnode.artifacts.listing import find_manifest
from flexnode.artifacts.manifest import (
    MANIFEST,
    FileEntry,
    Manifest,
    PackageEntry,
    describe_file,
    merge_manifests,
    parse_manifest,
    render_manifest,
)
from flexnode.artifacts.names import resolve
from flexnode.artifacts.proxies import Proxies, load_proxies
from flexnode.artifacts.settings import HttpSettings
from flexnode.artifacts.sources import open_sources
from flexnode.artifacts.store import Store, digest_of
from flexnode.artifacts.stream import Offer, Source, Stream
from flexnode.artifacts.unpack import unpack

__all__ = [
    "MANIFEST",
    "Code",
    "Fetcher",
    "FileEntry",
    "HttpSettings",
    "Limits",
    "LocalFailure",
    "Manifest",
    "Offer",
    "PackageEntry",
    "Proxies",
    "Refusal",
    "Source",
    "Store",
    "Stream",
    "combine",
    "describe_file",
    "digest_of",
    "find_manifest",
    "load_proxies",
    "merge_manifests",
    "open_sources",
    "parse_manifest",
    "read_index",
    "render_manifest",
    "render_size",
    "resolve",
    "unpack",
    "write_bundle",
]
