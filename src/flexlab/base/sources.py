"""Where the machine's own packages come from, and the same archive for another suite.

The laboratory asks no archive that the machine was not already told to ask.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from flexlab.errors import LabError
from flexlab.model import Suite

APT = Path("/etc/apt")

_POCKETS = ("", "-updates", "-security")
_OPTIONS = re.compile(r"^(?P<type>deb(?:-src)?)\s+(?:\[(?P<options>[^\]]*)\]\s*)?(?P<rest>.*)$")


@dataclass(frozen=True, kw_only=True, slots=True)
class AptSource:
    """One `deb` entry: an archive, what is taken from it, and the key that signs it (a path, or the key)."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""


def load_sources(apt: Path = APT) -> list[AptSource]:
    """The enabled binary sources of the machine, in apt's order; those apt would skip are skipped."""
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    found: list[AptSource] = []
    for path in files:
        if not path.is_file():
            continue
        if path.suffix == ".list":
            found += parse_one_line(path.read_text())
        elif path.suffix == ".sources":
            found += parse_deb822(path.read_text())
    return found


def parse_one_line(text: str) -> list[AptSource]:
    """Sources in the form `deb [options] URI SUITE COMPONENT…`."""
    found = []
    for line in text.splitlines():
        match = _OPTIONS.match(line.partition("#")[0].strip())
        if match is None or match["type"] != "deb":
            continue
        uri, *words = match["rest"].split()
        if not words:
            continue
        options = dict(option.partition("=")[::2] for option in shlex.split(match["options"] or ""))
        found.append(
            AptSource(
                uri=uri,
                suites=(words[0],),
                components=tuple(words[1:]),
                signed_by=options.get("signed-by", ""),
            )
        )
    return found


def parse_deb822(text: str) -> list[AptSource]:
    """Sources in the form of `*.sources` files: paragraphs of `Field: value`."""
    found = []
    for paragraph in re.split(r"\n[ \t]*\n", text):
        fields = _parse_paragraph(paragraph)
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() == "no":
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


def derive_sources(sources: Iterable[AptSource], suite: Suite) -> list[AptSource]:
    """The sources that give `suite` with its updates and security fixes, from the archives the machine uses.

    A machine that knows the suite is taken at its word; else the name of the suite it does know is replaced.
    """
    for known in (suite, *(other for other in Suite if other is not suite)):
        derived = [
            replace(
                source,
                suites=tuple(name.replace(known, suite, 1) for name in names),
                components=("main",),
            )
            for source in sources
            if "main" in source.components
            and (names := [name for name in source.suites if name in {known + pocket for pocket in _POCKETS}])
        ]
        if any(suite in source.suites for source in derived):
            return derived
    raise LabError(
        f"apt on this machine has no archive of Debian {' or '.join(Suite)}",
        code="lab/no-apt-archive",
        hint="add a Debian archive to /etc/apt/sources.list.d; the laboratory makes its machines from it",
    )


def render_one_line(source: AptSource) -> list[str]:
    """One line per suite; the form that mmdebstrap takes as an argument."""
    options = f"[signed-by={source.signed_by}] " if source.signed_by.startswith("/") else ""
    components = " ".join(source.components)
    return [f"deb {options}{source.uri} {suite} {components}" for suite in source.suites]


def render_deb822(source: AptSource) -> str:
    """One paragraph of a `*.sources` file, without the blank line behind it."""
    text = (
        f"Types: deb\nURIs: {source.uri}\nSuites: {' '.join(source.suites)}\n"
        f"Components: {' '.join(source.components)}\n"
    )
    return f"{text}Signed-By: {source.signed_by}\n" if source.signed_by else text


def _parse_paragraph(paragraph: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in paragraph.splitlines():
        if line.startswith("#"):
            continue
        if line[:1] in {" ", "\t"} and name:
            fields[name] += "\n" + line
            continue
        head, colon, value = line.partition(":")
        if colon:
            name = head.strip().lower()
            fields[name] = value.strip()
    return fields
