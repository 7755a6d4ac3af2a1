"""The catalog that ships: complete, canonical, quick to read, and the only place that knows versions."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from flexnode.catalog import load_catalog, render_catalog
from flexnode.catalog.catalog import read_shipped
from flexnode.catalog.document import Document
from flexnode.catalog.layout import version_key
from flexnode.model.artifact import Arch, Flavour

REPOSITORY = Path(__file__).resolve().parents[3]
CATALOG = load_catalog()
MINORS = sorted(CATALOG.document.release_sets, key=version_key)
SAMPLES = ("tests/unit", "tests/faults", "tests/golden")
"""Tests on fakes make up versions as they need them; what real machines get comes from the catalog."""


def test_the_file_is_in_its_canonical_form() -> None:
    assert read_shipped() == render_catalog(CATALOG.document), "run scripts/update_catalog.py format"


def test_reading_the_catalog_costs_a_start_nothing_that_anyone_notices() -> None:
    def measure() -> float:
        start = time.perf_counter()
        load_catalog()
        return time.perf_counter() - start

    assert min(measure() for _ in range(10)) < 0.020


def test_the_version_names_the_content(tmp_path: Path) -> None:
    (tmp_path / "overlay.json").write_text('{"format": 1, "artifacts": []}')
    assert load_catalog().version == CATALOG.version
    assert load_catalog([tmp_path / "overlay.json"]).version != CATALOG.version


@pytest.mark.parametrize("arch", Arch)
@pytest.mark.parametrize("minor", MINORS)
def test_every_file_of_a_node_is_published_for_every_minor_version(minor: str, arch: Arch) -> None:
    files = CATALOG.artifacts(CATALOG.release_set(minor), arch, optional=True)
    needed = {name for name, each in CATALOG.document.components.items() if not (each.lab or each.optional)}
    assert needed == {"cni-plugins", "containerd", "kubeadm", "kubectl", "kubelet", "runc"}
    assert needed <= {file.component for file in files}
    assert all(file.flavour is Flavour.RELEASE and file.urls for file in files)
    assert not [url for file in files for url in file.urls if "{" in url or not url.startswith("https://")]


def test_what_is_published_for_one_architecture_is_there_for_the_other() -> None:
    """A version that is asked for by name must not exist on half of the machines only."""
    releases = {
        f"{name} {version}": set(entry.release)
        for name, component in CATALOG.document.components.items()
        for version, entry in component.versions.items()
        if entry.release
    }
    assert releases
    assert {version for version, arches in releases.items() if arches != set(Arch)} == set()


@pytest.mark.parametrize("minor", MINORS)
def test_a_release_set_installs_the_newest_published_patch(minor: str) -> None:
    kubelets = CATALOG.document.components["kubelet"].versions
    published = [each for each, entry in kubelets.items() if entry.release and each.startswith(f"{minor}.")]
    assert CATALOG.release_set(minor).kubernetes == max(published, key=version_key)


def test_a_digest_is_given_once() -> None:
    """Two files with one digest are one file that was entered twice."""
    digests = [
        file.sha256
        for component in CATALOG.document.components.values()
        for entry in component.versions.values()
        for file in entry.release.values()
    ]
    assert len(digests) == len(set(digests))


def test_every_suite_gets_what_nodes_are_diagnosed_with() -> None:
    for suite in CATALOG.document.packages:
        assert {"conntrack", "curl", "ethtool", "iproute2", "nftables", "socat"} <= set(
            CATALOG.packages(suite)
        )


# Nowhere else


def find_versions(document: Document) -> re.Pattern[str]:
    """Matches every version that the catalog knows, with or without the leading v."""
    versions = {version for each in document.components.values() for version in each.versions}
    return re.compile(r"(?<![\w.])v?(?:" + "|".join(map(re.escape, sorted(versions))) + r")(?![\w.])")


def find_places(document: Document) -> re.Pattern[str]:
    """Matches the release sites and registries that the catalog names, but not names of Go modules."""
    places = set()
    for component in document.components.values():
        if component.image:
            places.add(component.image.partition("/")[0])
        for url in component.urls:
            parts = urlsplit(url)
            assert parts.hostname
            # A forge is named in the names of Go modules as well; its release pages are not.
            project, releases, _ = f"{parts.hostname}{parts.path}".partition("/releases/download/")
            places.add(project + releases if releases else parts.hostname)
    return re.compile("|".join(map(re.escape, sorted(places))))


DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
VERSION = find_versions(CATALOG.document)
PLACE = find_places(CATALOG.document)


def read_code() -> Iterator[tuple[Path, str]]:
    """Every text file that is code: the catalog's own data, and sample data of tests, are not."""
    data = REPOSITORY / "src/flexnode/catalog/catalog.json"
    paths = [path for top in ("src", "scripts", "tests") for path in (REPOSITORY / top).rglob("*")]
    for path in [REPOSITORY / "Makefile", *paths]:
        inside = path.relative_to(REPOSITORY)
        generated = {"__pycache__"} & set(inside.parts) or any(
            part.endswith(".egg-info") for part in inside.parts
        )
        is_sample = inside.as_posix().startswith(SAMPLES)
        if path.is_file() and path != data and not is_sample and not generated:
            yield inside, path.read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize(
    ("what", "pattern"),
    [("version", VERSION), ("release site", PLACE), ("digest", DIGEST)],
    ids=["version", "release site", "digest"],
)
def test_no_code_names_what_the_catalog_knows(what: str, pattern: re.Pattern[str]) -> None:
    found = [
        f"{path}:{number}: {match[0]}"
        for path, text in read_code()
        for number, line in enumerate(text.splitlines(), 1)
        if (match := pattern.search(line))
    ]
    assert not found, "\n".join([f"take the {what} from flexnode.catalog instead:", *found])


def test_the_search_finds_what_it_is_for() -> None:
    artifact = CATALOG.require("kubelet", CATALOG.release_set().kubernetes, Arch.AMD64)
    assert VERSION.search(f'run("--kubernetes", "v{artifact.version}")')
    assert PLACE.search(f'get("{artifact.urls[0]}")')
    assert PLACE.search(CATALOG.require("runc", CATALOG.versions("runc")[0], Arch.AMD64).urls[0])
    assert DIGEST.search(f'sha256 = "{artifact.sha256}"')
    assert len(list(read_code())) > 50
