"""A catalog file that is not exactly right is refused, and the error says where."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnode.catalog.document import parse_document, render_catalog
from flexnode.catalog.layout import WIDTH, render_json, version_key
from flexnode.errors import CatalogError
from unit.catalog.samples import encode, sample

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def engine(content: dict[str, Any]) -> Any:
    return content["components"]["engine"]


def drop_digest(content: dict[str, Any]) -> None:
    del engine(content)["versions"]["7.9.0"]["release"]["amd64"]["sha256"]


def drop_urls(content: dict[str, Any]) -> None:
    del engine(content)["urls"]


def drop_members(content: dict[str, Any]) -> None:
    del engine(content)["members"]


def drop_module(content: dict[str, Any]) -> None:
    del engine(content)["module"]


def empty_version(content: dict[str, Any]) -> None:
    engine(content)["versions"]["7.9.1"] = {}


def unknown_key(content: dict[str, Any]) -> None:
    engine(content)["optinal"] = True


def unknown_arch(content: dict[str, Any]) -> None:
    engine(content)["versions"]["7.9.0"]["release"]["x86"] = {"sha256": "1" * 64}


def short_digest(content: dict[str, Any]) -> None:
    engine(content)["versions"]["7.9.0"]["release"]["amd64"]["sha256"] = "abc"


def unknown_member(content: dict[str, Any]) -> None:
    engine(content)["versions"]["7.9.0"]["release"]["amd64"]["members"] = {"bin/other": "1" * 64}


def set_with_unknown_version(content: dict[str, Any]) -> None:
    content["release_sets"]["9.8"]["components"]["engine"] = "7.9.9"


def set_without_component(content: dict[str, Any]) -> None:
    del content["release_sets"]["9.8"]["components"]["engine"]


def set_with_unknown_component(content: dict[str, Any]) -> None:
    content["release_sets"]["9.8"]["components"]["engnie"] = "7.9.0"


def set_of_another_minor(content: dict[str, Any]) -> None:
    content["release_sets"]["9.7"] = content["release_sets"]["9.8"]


def default_without_set(content: dict[str, Any]) -> None:
    content["default_kubernetes"] = "9.9"


def newer_format(content: dict[str, Any]) -> None:
    content["format"] = 2


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (drop_digest, "engine: the release file of 7.9.0 (amd64) has no digest"),
        (drop_urls, "engine: 7.9.0 is published, but no URL says where"),
        (drop_members, "engine: an archive of which nothing gets installed"),
        (drop_module, "engine: 7.9.0 can be built from source, but no module is named"),
        (empty_version, "engine: 7.9.1 has neither release files nor source"),
        (unknown_key, "optinal"),
        (unknown_arch, "x86"),
        (short_digest, "sha256"),
        (unknown_member, "7.9.0 (amd64) has no member bin/other"),
        (set_with_unknown_version, "release set 9.8 names engine 7.9.9, which has no entry"),
        (set_without_component, "release set 9.8 names no version of engine"),
        (set_with_unknown_component, "release set 9.8 names the unknown component engnie"),
        (set_of_another_minor, "release set 9.7 installs Kubernetes 9.8.10"),
        (default_without_set, "no release set for the default 9.9"),
        (newer_format, "format"),
    ],
)
def test_a_wrong_catalog_is_refused(spoil: Callable[[dict[str, Any]], None], words: str) -> None:
    content = sample()
    spoil(content)
    with pytest.raises(CatalogError) as caught:
        parse_document(encode(content), "the sample")
    assert caught.value.code == "catalog/invalid"
    assert words in caught.value.message
    assert caught.value.message.startswith("the sample ")


def test_all_problems_are_told_at_once() -> None:
    content = sample()
    drop_digest(content)
    set_without_component(content)
    with pytest.raises(CatalogError, match=r"has no digest; .*names no version"):
        parse_document(encode(content), "the sample")


def test_the_order_in_which_things_were_entered_does_not_matter() -> None:
    content = sample()
    content["components"] = dict(reversed(content["components"].items()))
    engine(content)["versions"] = dict(reversed(engine(content)["versions"].items()))
    first = render_catalog(parse_document(encode(sample()), "the sample"))
    assert render_catalog(parse_document(encode(content), "the sample")) == first
    assert first.index(b'"7.9.0": {') < first.index(b'"7.10.0": {')


def test_what_is_written_reads_back_the_same() -> None:
    document = parse_document(encode(sample()), "the sample")
    again = parse_document(render_catalog(document), "the sample")
    assert again.components == document.components
    assert again.packages == {"atlas": ["anvil", "bells"]}


def test_one_more_digest_is_one_more_line() -> None:
    content = sample()
    before = render_catalog(parse_document(encode(content), "the sample")).splitlines()
    content["components"]["kubelet"]["versions"]["9.8.10"]["release"]["arm64"] = {"sha256": "4" * 64}
    after = render_catalog(parse_document(encode(content), "the sample")).splitlines()
    (added,) = (index for index, line in enumerate(after) if b"4" * 64 in line)
    # The line before gets a comma, as JSON wants it.
    assert [*after[: added - 1], after[added - 1].rstrip(b","), *after[added + 1 :]] == before


@settings(deadline=None)
@given(JSON)
def test_laying_out_loses_nothing(value: object) -> None:
    text = render_json(value).decode()
    assert json.loads(text) == value
    assert text.endswith("\n")


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**6), max_size=40))
def test_lines_stay_short_enough_to_read(numbers: list[int]) -> None:
    assert all(len(line) <= WIDTH for line in render_json({"numbers": numbers}).decode().splitlines())


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 30)] * 3)))
def test_versions_sort_as_people_count(numbers: list[tuple[int, int, int]]) -> None:
    texts = [".".join(map(str, each)) for each in numbers]
    assert sorted(texts, key=version_key) == [".".join(map(str, each)) for each in sorted(numbers)]


def test_a_pre_release_comes_before_its_release() -> None:
    ordered = ["7.9.0-alpha.2", "7.9.0-alpha.10", "7.9.0-rc.1", "7.9.0", "7.10.0-rc.1", "7.10.0"]
    assert sorted(reversed(ordered), key=version_key) == ordered
