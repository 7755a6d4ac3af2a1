"""A small catalog to change at will; its versions and digests name nothing that exists."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

ONE = "1" * 64
TWO = "2" * 64
THREE = "3" * 64

_SAMPLE: dict[str, Any] = {
    "format": 1,
    "default_kubernetes": "9.8",
    "components": {
        "engine": {
            "format": "tar.gz",
            "urls": [
                "https://first.invalid/v{version}/{arch}.tgz",
                "https://second.invalid/{version}-{arch}",
            ],
            "members": ["bin/engine", "{version}-{arch}/tool"],
            "module": "example.invalid/engine",
            "versions": {
                "7.9.0": {
                    "release": {"amd64": {"sha256": ONE}, "arm64": {"sha256": TWO}},
                    "source": "v7.9.0",
                },
                "7.10.0": {"source": "v7.10.0"},
            },
        },
        "kubelet": {
            "format": "file",
            "urls": ["https://first.invalid/v{version}/{arch}/kubelet"],
            "follows_kubernetes": True,
            "versions": {
                "9.8.2": {"release": {"amd64": {"sha256": ONE}}},
                "9.8.10": {"release": {"amd64": {"sha256": THREE}}},
            },
        },
        "lamp": {
            "format": "file",
            "module": "example.invalid/lamp",
            "image": "images.invalid/lamp:{version}",
            "optional": True,
            "versions": {"7.1.1": {"source": "v7.1.1"}},
        },
        "tower": {
            "format": "file",
            "module": "example.invalid/tower",
            "lab": True,
            "versions": {"7.3.3": {"source": "v7.3.3"}},
        },
    },
    "release_sets": {
        "9.8": {
            "kubernetes": "9.8.10",
            "components": {"engine": "7.9.0", "lamp": "7.1.1", "tower": "7.3.3"},
        }
    },
    "packages": {"atlas": ["bells", "anvil"]},
}


def sample() -> dict[str, Any]:
    """The catalog as a value of one's own."""
    return deepcopy(_SAMPLE)


def encode(value: object) -> bytes:
    return json.dumps(value).encode()


def built(component: str, version: str, **changes: Any) -> dict[str, Any]:
    """An entry of an overlay."""
    entry = {"component": component, "version": version, "arch": "amd64", "flavour": "source"}
    return {**entry, "format": "file", "sha256": THREE, **changes}


def overlay(*entries: dict[str, Any]) -> bytes:
    return encode({"format": 1, "artifacts": list(entries)})
