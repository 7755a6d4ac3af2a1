"""The Debian archive that this machine already uses, as apt's own configuration names it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from flexnode.errors import FlexError

DEBIAN_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

_OPTIONS = re.compile(r"\[([^\]]*)\]")
_SUFFIXES = ("", "-updates", "-security", "/updates")


@dataclass(frozen=True, kw_only=True, slots=True)
class AptSource:
    """One archive and the suites of it to use. `signed_by` is empty where apt's trusted keys decide."""

    uri: str
    suites: tuple[str, ...]
    signed_by: str = ""

    def render(self) -> str:
        """The source in apt's own words."""
        lines = ["Types: deb", f"URIs: {self.uri}", f"Suites: {' '.join(self.suites)}", "Components: main"]
        if self.signed_by:
            lines.append(f"Signed-By: {self.signed_by}")
        return "\n".join(lines) + "\n"


def load_sources(etc_apt: Path) -> tuple[AptSource, ...]:
    """Every source of main packages in an /etc/apt."""
    found: list[AptSource] = []
    folder = etc_apt / "sources.list.d"
    for path in (etc_apt / "sources.list", *sorted(folder.glob("*.list"))):
        if path.is_file():
            found += parse_list(path.read_text())
    for path in sorted(folder.glob("*.sources")):
        found += parse_deb822(path.read_text())
    return tuple(found)


def parse_list(text: str) -> list[AptSource]:
    """The one-line style: `deb [options] URI SUITE COMPONENT…`."""
    found = []
    for line in text.splitlines():
        options = _OPTIONS.search(line)
        words = _OPTIONS.sub(" ", line.partition("#")[0], count=1).split()
        if len(words) < 4 or words[0] != "deb" or "main" not in words[3:]:
            continue
        signed_by = next(
            (
                option.partition("=")[2]
                for option in (options.group(1).split() if options else ())
                if option.lower().startswith("signed-by=")
            ),
            "",
        )
        found.append(AptSource(uri=words[1], suites=(words[2],), signed_by=signed_by))
    return found


def parse_deb822(text: str) -> list[AptSource]:
    """The stanza style of `*.sources`."""
    found = []
    for stanza in re.split(r"\n\s*\n", text):
        fields = _parse_fields(stanza)
        enabled = fields.get("enabled", "yes").lower() not in ("no", "false", "0")
        if not enabled or "deb" not in fields.get("types", "").split():
            continue
        if "main" not in fields.get("components", "").split():
            continue
        found += [
            AptSource(
                uri=uri,
                suites=tuple(fields.get("suites", "").split()),
                signed_by=fields.get("signed-by", ""),
            )
            for uri in fields.get("uris", "").split()
        ]
    return found


def _parse_fields(stanza: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace():  # a continued value, such as a key in full
            if name:
                fields[name] += " " + line.strip()
            continue
        name, separator, value = line.partition(":")
        name = name.strip().lower()
        if separator:
            fields[name] = value.strip()
    return fields


def sources_for(suite: str, configured: Iterable[AptSource], codename: str) -> tuple[AptSource, ...]:
    """The configured Debian archives, turned from this machine's `codename` to `suite`.

    Archives of other vendors, which may call their suites by the same names, are left out: what Debian's own
    keyring does not sign is not Debian.
    """
    found = []
    for source in configured:
        own = [name.removeprefix(codename) for name in source.suites if name.startswith(codename)]
        suffixes = [suffix for suffix in own if suffix in _SUFFIXES]
        if suffixes and _is_debian(source.signed_by):
            suites = tuple(suite + suffix for suffix in suffixes)
            found.append(AptSource(uri=source.uri, suites=suites, signed_by=source.signed_by))
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
