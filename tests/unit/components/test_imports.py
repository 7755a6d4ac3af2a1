"""Code that makes images cannot see a cluster's configuration or a credential, so none can end up in one."""

from __future__ import annotations

from pathlib import Path

from architecture.source import load_tree

SOURCE = Path(__file__).resolve().parents[3] / "src"
MODULES = {module.name: module for module in load_tree(SOURCE, "flexnode")}
FORBIDDEN = {"flexnode.model.spec", "flexnode.model.credentials"}


def reach(start: str) -> dict[str, str]:
    """Every module of the product that importing `start` imports, each with who imports it."""
    found: dict[str, str] = {}
    waiting = [(start, "")]
    while waiting:
        name, importer = waiting.pop()
        if name in found:
            continue
        found[name] = importer
        packages = name.split(".")
        names = [".".join(packages[:end]) for end in range(1, len(packages))]
        names += [imported for _, imported in MODULES[name].imports()]
        waiting += [(module, name) for each in names if (module := _module(each))]
    return found


def _module(name: str) -> str:
    """The module that an imported name lies in."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def test_the_baked_part_knows_no_cluster_and_no_credential() -> None:
    for start in ("flexnode.components.baked", "flexnode.components.machine"):
        found = reach(start)
        assert not FORBIDDEN & found.keys(), {name: found[name] for name in FORBIDDEN & found.keys()}


def test_the_joined_part_would_be_caught() -> None:
    assert reach("flexnode.components.node").keys() >= FORBIDDEN


def test_components_read_and_change_nothing() -> None:
    """A generation is composed to be looked at, too: by `plan`, on somebody else's machine, in a test."""
    effects = ("open", "os", "pathlib.Path", "flexnode.host", "flexnode.artifacts", "flexnode.kube", "io")
    complaints = [
        f"{module.name}:{line} uses {name}"
        for module in MODULES.values()
        if module.name.startswith("flexnode.components")
        for line, name in module.uses(effects)
    ]
    assert complaints == []
