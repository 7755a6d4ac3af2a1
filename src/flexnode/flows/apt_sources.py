"""Which Debian archive packages come from: the one that this machine already uses, or one that is named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flexnode.errors import FlexError
from flexnode.host.apt_sources import AptSource

DEBIAN_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

_SUFFIXES = ("", "-updates", "-security", "/updates")


def sources_for(suite: str, configured: Iterable[AptSource], codename: str) -> tuple[AptSource, ...]:
    """The configured Debian archives, turned from this machine's `codename` to `suite`.

    Archives of other vendors, which may call their suites by the same names, are left out: what Debian's own
    keyring does not sign is not Debian.
    """
    found = []
    for source in configured:
        if "main" not in source.components:
            continue
        own = [name.removeprefix(codename) for name in source.suites if name.startswith(codename)]
        suffixes = [suffix for suffix in own if suffix in _SUFFIXES]
        if suffixes and _is_debian(source.signed_by):
            suites = tuple(suite + suffix for suffix in suffixes)
            found.append(replace(source, suites=suites, components=("main",)))
    if not found:
        raise FlexError(
            f"this machine's apt is not configured for a Debian archive of {codename or 'any suite'}",
            code="bundle/no-debian-mirror",
            hint="name one with --debian-mirror URL, or leave the packages out with --no-packages",
        )
    return tuple(found)


def source_at(mirror: str, suite: str) -> tuple[AptSource, ...]:
    """The archive at a mirror that the user names."""
    return (AptSource(uri=mirror, suites=(suite, f"{suite}-updates"), signed_by=DEBIAN_KEYRING),)


def _is_debian(signed_by: str) -> bool:
    return not signed_by or "debian-archive" in signed_by
