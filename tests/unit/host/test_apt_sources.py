"""Packages come from the archives that the machine was told to ask, and are signed by whom it believes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlab.base.sources import derive_sources
from flexlab.model import Suite
from flexnode.errors import FlexError
from flexnode.flows.apt_sources import sources_for
from flexnode.host.apt_sources import AptSource, load_sources, parse_deb822, parse_one_line

URI = "http://deb.example/debian"
DEBIAN = "/usr/share/keyrings/debian-archive-keyring.gpg"
STANZA = f"""\
# the machine's own
Types: deb deb-src
URIs: {URI} http://second.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            f"deb {URI} bookworm main contrib # ours",
            AptSource(uri=URI, suites=("bookworm",), components=("main", "contrib")),
        ),
        (
            f"deb [arch=amd64 Signed-By={DEBIAN}] {URI} bookworm main",
            AptSource(uri=URI, suites=("bookworm",), signed_by=DEBIAN),
        ),
        (
            "deb http://[fd00::1]/debian bookworm main",
            AptSource(uri="http://[fd00::1]/debian", suites=("bookworm",)),
        ),
        (f"deb {URI} ./", AptSource(uri=URI, suites=("./",), components=())),
        (f"deb-src {URI} bookworm main", None),
        (f"# deb {URI} bookworm main", None),
        ("deb", None),
        ("deb [", None),
        ("", None),
    ],
)
def test_a_line_is_read_as_apt_reads_it(line: str, found: AptSource | None) -> None:
    assert parse_one_line(line) == ([found] if found else [])


def test_a_paragraph_is_read_as_apt_reads_it_with_a_key_of_several_lines() -> None:
    """Joined into one line the key would be none, and apt would refuse the whole archive."""
    first, second = parse_deb822(STANZA)
    assert (first.uri, second.uri) == (URI, "http://second.example/debian")
    assert first.suites == ("bookworm", "bookworm-updates")
    assert first.components == ("main", "contrib")
    assert parse_deb822(first.render()) == [first]


@pytest.mark.parametrize("line", ["Enabled: no", "enabled: FALSE", "Types: deb-src"])
def test_a_paragraph_that_is_switched_off_is_none(line: str) -> None:
    assert parse_deb822(STANZA + line) == []


def test_files_that_apt_skips_are_skipped(tmp_path: Path) -> None:
    folder = tmp_path / "sources.list.d"
    (folder / "odd.list").mkdir(parents=True)
    (tmp_path / "sources.list").write_text(f"deb {URI} one main\n")
    (folder / "a.sources").write_text(STANZA)
    (folder / "b.list").write_bytes(f"deb {URI} two main # \xe9\n".encode("latin-1"))
    (folder / "c.list.bak").write_text(f"deb {URI} three main\n")
    found = load_sources(tmp_path)
    assert [suite for source in found for suite in source.suites if len(suite) == 3] == ["one", "two"]
    assert len(found) == 4
    assert load_sources(tmp_path / "none") == ()


def test_another_vendors_archive_with_the_same_suites_is_not_debian() -> None:
    own = AptSource(uri=URI, suites=("bookworm", "bookworm-backports"), signed_by=DEBIAN)
    other = AptSource(uri="http://vendor.example", suites=("bookworm",), signed_by="/etc/vendor.gpg")
    part = AptSource(uri="http://part.example", suites=("bookworm",), components=("contrib",))
    (found,) = sources_for("trixie", (other, part, own), "bookworm")
    assert (found.uri, found.suites) == (URI, ("trixie",))
    with pytest.raises(FlexError):
        sources_for("trixie", (other, part), "bookworm")


def test_the_laboratory_asks_the_archives_that_its_machine_knows() -> None:
    known, other = Suite
    own = AptSource(uri=URI, suites=(str(known), f"{known}-updates"), components=("main", "contrib"))
    (found,) = derive_sources((own,), other)
    assert found == AptSource(uri=URI, suites=(str(other), f"{other}-updates"))


@given(st.text())
def test_no_text_is_a_crash(text: str) -> None:
    assert all(source.suites for source in parse_one_line(text))
    assert all(source.uri for source in parse_deb822(text))
