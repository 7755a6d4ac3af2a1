"""The schema, the reference and the decoder say the same, since they are made from the same declarations."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnode.config import v1
from flexnode.config.decode import decode_layer
from flexnode.config.layers import Layer
from flexnode.config.problems import render_path
from flexnode.config.reference import render_reference
from flexnode.config.render import make_document
from flexnode.config.resolve import resolve
from flexnode.config.schema import make_schema, render_schema
from flexnode.config.tree import UNSET, Section, Setting
from flexnode.config.tree import settings as all_settings
from flexnode.config.types import Choice, Flag, ListOf, MapOf, SecretText, Text, Whole
from unit.config.samples import CA, FIRST, HEADER, LATER, SMALL, resolve_documents, small

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference"
SCHEMA = make_schema()


def complaints(value: Any, schema: dict[str, Any], at: str = "") -> list[str]:
    """The part of JSON Schema that the schema uses; an unknown keyword is an error of the test."""
    known = {"description", "default", "examples", "title", "$schema"}
    found: list[str] = []
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
    for keyword, said in schema.items():
        match keyword:
            case "type":
                wrong_bool = isinstance(value, bool) and said != "boolean"
                if wrong_bool or not isinstance(value, kinds[said]):
                    return [f"{at}: is not {said}"]
            case "const":
                found += [] if value == said else [f"{at}: is not {said}"]
            case "enum":
                found += [] if value in said else [f"{at}: is not one of {said}"]
            case "pattern":
                found += [] if re.search(said.replace("$", r"\Z"), value) else [f"{at}: pattern"]
            case "minLength":
                found += [] if len(value) >= said else [f"{at}: too short"]
            case "maxLength":
                found += [] if len(value) <= said else [f"{at}: too long"]
            case "minimum":
                found += [] if value >= said else [f"{at}: too small"]
            case "maximum":
                found += [] if value <= said else [f"{at}: too large"]
            case "minItems":
                found += [] if len(value) >= said else [f"{at}: too few"]
            case "uniqueItems":
                found += (
                    [] if all(item not in value[:n] for n, item in enumerate(value)) else [f"{at}: twice"]
                )
            case "items":
                found += [
                    each for n, item in enumerate(value) for each in complaints(item, said, f"{at}[{n}]")
                ]
            case "required":
                found += [f"{at}.{name}: missing" for name in said if name not in value]
            case "propertyNames":
                found += [each for name in value for each in complaints(name, said, f"{at} key")]
            case "properties":
                for name in value.keys() & said.keys():
                    found += complaints(value[name], said[name], f"{at}.{name}")
            case "additionalProperties":
                others = value.keys() - schema.get("properties", {}).keys()
                for name in others:
                    found += [f"{at}.{name}: unknown"] if said is False else complaints(value[name], said, at)
            case "oneOf":
                fitting = [option for option in said if not complaints(value, option)]
                found += [] if len(fitting) == 1 else [f"{at}: fits {len(fitting)}"]
            case "anyOf":
                found += [] if any(not complaints(value, option) for option in said) else [f"{at}: fits none"]
            case _:
                assert keyword in known, keyword
    return found


def values(type_: Any) -> st.SearchStrategy[Any]:
    """Good values of a type, made from its declaration."""
    match type_:
        case Flag():
            return st.booleans()
        case Whole():
            return st.integers(type_.least, type_.most) | st.sampled_from(type_.besides or (type_.least,))
        case Choice():
            return st.sampled_from(type_.options)
        case SecretText():
            references = st.sampled_from([{"file": "/run/secret"}, {"credential": "join-1"}])
            return values(type_.inner) | references
        case Text():
            examples = st.sampled_from(type_.examples or (CA,))
            if type_.rules or type_.login:
                return examples
            return examples | st.from_regex(re.compile(type_.pattern, re.ASCII), fullmatch=True).filter(bool)
        case ListOf():
            return st.lists(values(type_.item), min_size=type_.least, max_size=3, unique_by=repr)
        case MapOf():
            return st.dictionaries(values(type_.key), values(type_.value), max_size=3)
    return sections(type_)


def sections(section: Section) -> st.SearchStrategy[dict[str, Any]]:
    fields = {
        name: sections(child) if isinstance(child, Section) else values(child.type)
        for name, child in section.fields.items()
    }
    needed = {name: fields.pop(name) for name in section.required}
    return st.fixed_dictionaries(needed, optional=fields)


@settings(max_examples=200, deadline=None)
@given(sections(v1.NODE_CONFIG))
def test_what_the_declarations_allow_is_accepted_by_both(body: dict[str, Any]) -> None:
    document = {**HEADER, **body}
    assert complaints(document, SCHEMA) == []
    layer = decode_layer(Layer(origin="a", data=document))
    assert [str(problem) for problem in layer.problems] == []


SPOILS = st.sampled_from(
    [None, True, 0, -7, 10**9, "", "x y", "on", "\n", [], ["a", "a"], {}, {"a": 1}, {"file": 1}]
)


def places(section: Section, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [at] if at else []
    for name, child in section.fields.items():
        found += places(child, (*at, name)) if isinstance(child, Section) else [(*at, name)]
    return found


@settings(deadline=None)
@given(st.sampled_from(places(v1.NODE_CONFIG)), SPOILS)
def test_what_the_decoder_accepts_the_schema_accepts(place: tuple[str, ...], value: Any) -> None:
    """An editor that marks what the product takes would teach users to pass over its marks."""
    document: Any = dict(HEADER)
    inner = document
    for step in place[:-1]:
        inner = inner.setdefault(step, {})
    inner[place[-1]] = value
    layer = decode_layer(Layer(origin="a", data=document))
    if not layer.problems:
        assert complaints(document, SCHEMA) == []


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, ".apiVersion: missing"),
        ({**HEADER, "kind": "Node"}, ".kind: is not NodeConfig"),
        ({**HEADER, "kubelet": {"maxPod": 1}}, ".kubelet.maxPod: unknown"),
        ({**HEADER, "kubelet": {"maxPods": 0}}, ".kubelet.maxPods: too small"),
        ({**HEADER, "kubelet": {"podPidsLimit": 0}}, ".kubelet.podPidsLimit: fits none"),
        ({**HEADER, "runtime": {"cni": "x"}}, ".runtime.cni: is not one of"),
        ({**HEADER, "auth": {"bootstrapToken": "x"}}, ".auth.bootstrapToken: fits 0"),
        ({**HEADER, "node": {"labels": {"a b": "c"}}}, ".node.labels key: pattern"),
        ({**HEADER, "node": {"taints": ["a:NoExecute"] * 2}}, ".node.taints: twice"),
        ({**HEADER, "node": {"name": 1}}, ".node.name: is not string"),
        (
            {**HEADER, "kubelet": {"credentialProviders": [{}]}},
            ".kubelet.credentialProviders[0].name: missing",
        ),
    ],
)
def test_the_schema_sees_what_is_wrong(document: dict[str, Any], words: str) -> None:
    """It is of use in an editor only if it says no."""
    assert words in "\n".join(complaints(document, SCHEMA))


def declared(section: Section, at: tuple[str, ...] = ()) -> list[tuple[str, Setting | Section]]:
    found: list[tuple[str, Setting | Section]] = []
    for name, child in section.fields.items():
        found.append((render_path((*at, name)), child))
        if isinstance(child, Section):
            found += declared(child, (*at, name))
    return found


# Nothing holds in place of these: they are needed where what is around them is used, or are simply not there.
WITHOUT_A_WORD = {
    "auth.servicePrincipal.clientId",
    "auth.servicePrincipal.clientSecret",
    "azure.cluster.resourceId",
    "azure.arc.resourceGroup",
    "kubelet.credentialProviders[].name",
    "kubelet.credentialProviders[].binary",
    "kubelet.credentialProviders[].matchImages",
}


def test_every_setting_is_described() -> None:
    for place, child in declared(v1.NODE_CONFIG):
        assert child.about.endswith("."), place
    silent = set()
    for path, setting in all_settings(v1.NODE_CONFIG):
        assert setting.about.endswith("."), path
        assert setting.default is UNSET or not setting.unset, f"{path} has a default, so it is never unset"
        if setting.default is UNSET and not setting.unset:
            silent.add(".".join(map(str, path)).replace(".[]", "[]"))
    assert silent == WITHOUT_A_WORD


def test_every_default_is_itself_acceptable() -> None:
    body = {**HEADER, **v1.defaults()}
    assert decode_layer(Layer(origin="a", data=body)).problems == ()
    assert complaints(body, SCHEMA) == []


def test_every_example_is_itself_acceptable() -> None:
    """Examples are what people copy."""
    for path, setting in all_settings(v1.NODE_CONFIG):
        for type_ in (
            setting.type,
            getattr(setting.type, "inner", None),
            getattr(setting.type, "item", None),
        ):
            if isinstance(type_, Text):
                assert [type_.find_fault(each) for each in type_.examples] == [None] * len(type_.examples), (
                    path
                )


@pytest.mark.parametrize(
    ("name", "render"),
    [("nodeconfig.schema.json", render_schema), ("configuration.md", render_reference)],
)
def test_the_published_reference_is_up_to_date(name: str, render: Any) -> None:
    """Write it anew: aks-flex-node config schema [--markdown] > docs/reference/…"""
    assert (REFERENCE / name).read_text() == render()


def test_the_reference_tells_every_setting() -> None:
    page = render_reference()
    for path, setting in all_settings(v1.NODE_CONFIG):
        name = ".".join("NAME" if step == "*" else str(step) for step in path).replace(".[]", "[]")
        assert f"#### `{name}`" in page
        assert setting.about in page


@pytest.mark.parametrize("document", [small(auth={"bootstrapToken": {"file": "/token"}}), small(auth={})])
def test_what_is_shown_is_a_document_of_the_same_meaning(document: dict[str, Any]) -> None:
    resolved = resolve_documents(document)
    shown = make_document(resolved.data)
    assert complaints(shown, SCHEMA) == []
    assert resolve_documents(shown).spec == resolved.spec
    assert make_document(resolve_documents(shown).data) == shown


@settings(max_examples=50, deadline=None)
@given(sections(v1.NODE_CONFIG))
def test_what_is_shown_of_any_document_validates(body: dict[str, Any]) -> None:
    """`config show` prints what `config validate` accepts, but for literal secrets."""
    body.pop("auth", None)
    layer = decode_layer(Layer(origin="a", data={**HEADER, **body}))
    shown = make_document(layer.data)
    again = decode_layer(Layer(origin="a", data=json.loads(json.dumps(shown))))
    assert again.problems == ()
    assert again.data == {name: value for name, value in layer.data.items() if value}


def test_the_samples_are_examples_of_the_schema() -> None:
    assert complaints(SMALL, SCHEMA) == []
    for old in (FIRST, LATER):
        assert complaints(old, SCHEMA)  # it speaks of today's documents only
        resolved = resolve([decode_layer(Layer(origin="a", data=old))])
        assert resolved.spec.azure is not None


def test_the_configuration_is_cheap_to_import() -> None:
    """Every verb pays for it, also the one that kubelet calls for each token."""
    program = "import sys, flexnode.config; print(*sorted(sys.modules))"
    argv = [sys.executable, "-I", "-c", program]
    loaded = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    heavy = {"yaml", "httpx", "ssl", "socket", "click", "json", "difflib", "hashlib", "asyncio", "subprocess"}
    assert heavy & set(loaded) == set()
