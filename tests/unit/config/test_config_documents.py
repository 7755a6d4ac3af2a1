"""Text becomes the data that stands there, or an error that says where it went wrong."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.config.documents import MOST_BYTES, parse_document
from flexnode.config.problems import Problem, Report, render_path
from flexnode.config.render import render_json, render_yaml


def parse(text: str, *, yaml: bool) -> tuple[object, list[Problem]]:
    report = Report(origin="file")
    return parse_document(text, report, yaml=yaml), report.problems


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: on", {"a": "on"}),
        ("a: no", {"a": "no"}),
        ("no: yes", {"no": "yes"}),
        ("a: true", {"a": True}),
        ("a: 1.30", {"a": "1.30"}),
        ("a: 12", {"a": 12}),
        ("a: -1", {"a": -1}),
        ("a: 010", {"a": "010"}),
        ("a: 1:30", {"a": "1:30"}),
        ("a: 2026-01-01", {"a": "2026-01-01"}),
        ("a: '12'", {"a": "12"}),
        ('a: "true"', {"a": "true"}),
        ("a:", {"a": None}),
        ("a: ~", {"a": None}),
        ("a: ''", {"a": ""}),
        ("1: x", {"1": "x"}),
        ("a: [1, b]", {"a": [1, "b"]}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("", None),
        ("# nothing\n", None),
        ('{"a": {"b": 1}}', {"a": {"b": 1}}),
    ],
)
def test_yaml_means_what_it_says(text: str, value: object) -> None:
    """`on` as true and 1.30 as 1.3 are the surprises that YAML is known for."""
    assert parse(text, yaml=True) == (value, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &x 1\nb: *x", "anchors and aliases are not read; write the value out, line 1 column 4"),
        ("b: *x", "anchors and aliases are not read"),
        ("a:\n  <<: {b: 1}", "merge keys are not read"),
        ("a: !!python/object:os.system x", "tags are not read"),
        ("a: !secret x", "tags are not read"),
        ("? [a]\n: b", "a key is text"),
        ("a: 1\n---\nb: 2", "expected a single document"),
        ("a: b: c", "mapping values are not allowed here, line 1 column 5"),
        ("a: [1", "line 1"),
        ("a: \x00", "characters that are not allowed"),
        ("[" * 100 + "]" * 100, "nested more than 50"),
        ("[" * 5000, "nested more than 50"),
    ],
)
def test_yaml_that_surprises_is_refused(text: str, words: str) -> None:
    data, (problem,) = parse(text, yaml=True)
    assert data == {}
    assert words in problem.what


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON: Expecting property name"),
        ('{"a": 1,}', "line 1 column 9"),
        ('{"a": NaN}', "is not JSON that can be read"),
        ("[" * 100_000, "nested too deep"),
        ("[" * 60 + "]" * 60, "nested more than 50"),
        ("1" * 5000, "a number is too long"),
        (" " * (MOST_BYTES + 1), "larger than 1 MiB"),
    ],
    ids=range(7),
)
def test_broken_json_is_refused_with_its_place(text: str, words: str) -> None:
    data, (problem,) = parse(text, yaml=False)
    assert data == {}
    assert words in problem.what


@pytest.mark.parametrize("yaml", [False, True])
def test_a_key_that_is_written_twice_is_told_with_its_path(yaml: bool) -> None:
    """Every parser keeps one of them and says nothing; which one, the user would have to guess."""
    text = '{"a": {"x/y": 1, "b": 2, "x/y": 3}, "c": [{"d": 1, "d": 1}]}'
    _, problems = parse(text, yaml=yaml)
    assert [render_path(problem.path) for problem in problems] == ['a["x/y"]', "c[0].d"]
    assert {problem.what for problem in problems} == {"is written twice"}


DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=10,
)
# What YAML can hold: not all of Unicode, and line breaks of its own.
LETTERS = st.text(
    st.characters(
        codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"], exclude_characters="\x85\u2028\u2029\ufeff"
    )
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), DATA))
def test_json_that_is_shown_reads_back(data: dict[str, object]) -> None:
    assert parse(render_json(data), yaml=False) == (data, [])


@given(
    st.dictionaries(
        LETTERS,
        st.recursive(
            st.booleans() | st.integers(-(10**18), 10**18) | LETTERS,
            lambda inner: st.lists(inner) | st.dictionaries(LETTERS, inner),
            max_leaves=10,
        ),
    )
)
def test_yaml_that_is_shown_reads_back(data: dict[str, object]) -> None:
    """What `config show` prints is meant to be copied into a file."""
    assert parse(render_yaml(data), yaml=True) == (data, [])


@given(st.text(), st.booleans())
def test_no_text_crashes_the_parser(text: str, yaml: bool) -> None:
    data, problems = parse(text, yaml=yaml)
    assert problems or data is None or json.dumps(data)
