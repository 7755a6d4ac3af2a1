"""Where apt takes packages from: the archives that its own configuration names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

APT = Path("/etc/apt")

_ENTRY = re.compile(r"\s*deb\s+(?:\[([^\]]*)\]\s*)?(.*)")
_OFF = frozenset({"no", "false", "0"})


@dataclass(frozen=True, kw_only=True, slots=True)
class AptSource:
    """One `deb` entry: an archive, what is taken from it, and the key that signs it.

    `signed_by` is a path or the key itself, over several lines; empty where apt's trusted keys decide.
    """

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...] = ("main",)
    signed_by: str = ""

    def render(self) -> str:
        """The paragraph of a `*.sources` file, without the blank line behind it."""
        lines = [
            "Types: deb",
            f"URIs: {self.uri}",
            f"Suites: {' '.join(self.suites)}",
            f"Components: {' '.join(self.components)}",
        ]
        if self.signed_by:
            lines.append(f"Signed-By: {self.signed_by}")
        return "\n".join(lines) + "\n"


def load_sources(apt: Path = APT) -> tuple[AptSource, ...]:
    """The enabled sources of binary packages, in apt's order; files that apt would skip are skipped."""
    found: list[AptSource] = []
    for path in (apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))):
        if not path.is_file():
            continue
        if path.suffix == ".list":
            found += parse_one_line(path.read_text(errors="replace"))
        elif path.suffix == ".sources":
            found += parse_deb822(path.read_text(errors="replace"))
    return tuple(found)


def parse_one_line(text: str) -> list[AptSource]:
    """The one-line style: `deb [options] URI SUITE COMPONENT…`."""
    found = []
    for line in text.splitlines():
        entry = _ENTRY.fullmatch(line.partition("#")[0])
        words = entry[2].split() if entry else []
        if entry is None or len(words) < 2:
            continue
        options = dict(option.partition("=")[::2] for option in (entry[1] or "").split())
        signed_by = next((value for name, value in options.items() if name.lower() == "signed-by"), "")
        found.append(
            AptSource(uri=words[0], suites=(words[1],), components=tuple(words[2:]), signed_by=signed_by)
        )
    return found


def parse_deb822(text: str) -> list[AptSource]:
    """The style of `*.sources`: paragraphs of `Field: value`."""
    found = []
    for paragraph in re.split(r"\n[ \t]*\n", text):
        fields = _parse_fields(paragraph)
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in _OFF:
            continue
        found += [
            AptSource(
                uri=uri,
                suites=tuple(fields.get("suites", "").split()),
                components=tuple(fields.get("components", "").split()),
                signed_by=fields.get("signed-by", ""),
            )
            for uri in fields.get("uris", "").split()
        ]
    return found


def _parse_fields(paragraph: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in paragraph.splitlines():
        if line.startswith("#"):
            continue
        if line[:1] in (" ", "\t"):  # a continued value, such as a key in full
            if name:
                fields[name] += "\n" + line
            continue
        head, colon, value = line.partition(":")
        if colon:
            name = head.strip().lower()
            fields[name] = value.strip()
    return fields
