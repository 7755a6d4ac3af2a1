"""The document `apiVersion: flexnode.io/v1`, `kind: NodeConfig`: what it may say, and its decoder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from flexnode.config import azure_settings, kubelet_settings, machine_settings, node_settings
from flexnode.config.problems import Report, render_path, show_value
from flexnode.config.tree import UNSET, Section, settings
from flexnode.config.types import WRONG

API_VERSION: Final = "flexnode.io/v1"
KIND: Final = "NodeConfig"
HEADER: Final = {"apiVersion": API_VERSION, "kind": KIND}
EDITOR_KEY: Final = "$schema"  # what editors read to know the schema; the product passes over it

NODE_CONFIG = Section(
    about="What the user wants of one node. All settings are optional here: what a node cannot do without "
    "may come from another source.",
    fields={
        "cluster": node_settings.CLUSTER,
        "node": node_settings.NODE,
        "auth": azure_settings.AUTH,
        "azure": azure_settings.AZURE,
        "versions": machine_settings.VERSIONS,
        "kubelet": kubelet_settings.KUBELET,
        "runtime": machine_settings.RUNTIME,
        "host": machine_settings.HOST,
        "proxy": machine_settings.PROXY,
        "artifacts": machine_settings.ARTIFACTS,
        "agent": node_settings.AGENT,
    },
)


def decode(data: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """The accepted part of a document of this version; its header need not be there."""
    body = {key: value for key, value in data.items() if key not in HEADER and key != EDITOR_KEY}
    for key, wanted in HEADER.items():
        if key in data and data[key] != wanted:
            report.add(
                (key,), "is not known", value=show_value(data[key]), hint=f"this version reads {wanted}"
            )
    report.known = names()
    found = NODE_CONFIG.decode(body, (), report)
    return {} if found is WRONG else found


@cache
def names() -> Mapping[str, str]:
    """Settings and sections by their last name, where it is the name of one only."""
    places: dict[str, list[str]] = {}
    for path, _ in settings(NODE_CONFIG):
        for end in range(1, len(path) + 1):
            place, last = render_path(path[:end]), str(path[end - 1]).lower()
            if not {"*", "[]"} & set(path[:end]) and place not in places.setdefault(last, []):
                places[last].append(place)
    return {last: found[0] for last, found in places.items() if len(found) == 1}


@cache
def defaults() -> Mapping[str, Any]:
    """What holds where nobody says otherwise."""
    found: dict[str, Any] = {}
    for path, setting in settings(NODE_CONFIG):
        if setting.default is UNSET or {"*", "[]"} & set(path):
            continue
        inner = found
        for step in path[:-1]:
            inner = inner.setdefault(str(step), {})
        inner[str(path[-1])] = setting.default
    return found
