"""The rules, each a function from modules to complaints. A complaint says where, what, and which way out."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from architecture.source import Module, is_within
from architecture.tables import FUNCTION_LINES, MODULE_LINES, VAGUE_NAMES, Door, Layers

OURS = ("flexnode", "flexlab")


def check_layers(modules: Iterable[Module], layers: Layers) -> Iterator[str]:
    """Imports point down, and never out of the packages that this one builds on."""
    rank = {part: number for number, row in enumerate(layers.rows) for part in row}
    for module in modules:
        if module.part and module.part not in rank:
            yield f"{module.name}: {module.part} is in no layer; write it into its row in tables.py"
            continue
        for line, name in module.imports():
            top, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            where = f"{module.name}:{line} imports {name}"
            if top in OURS and top != layers.package and top not in layers.may_import:
                yield f"{where}: {layers.package} builds on nothing of {top}"
            elif top != layers.package or target in ("", module.part):
                continue
            elif target not in rank:
                if not module.part or target.startswith("__"):
                    continue  # a name that the top package itself defines
                yield f"{where}: {target} is in no layer"
            elif not module.part:
                yield f"{where}: the top of the package imports nothing of itself"
            elif rank[target] == rank[module.part]:
                yield f"{where}: {module.part} and {target} are siblings; move what both need down a layer"
            elif rank[target] < rank[module.part]:
                yield f"{where}: {target} lies above {module.part}; pass it in instead"


def check_doors(modules: Iterable[Module], doors: Iterable[Door]) -> Iterator[str]:
    """Each effect happens only behind its door. A `__main__` is a command line: it may print and exit."""
    doors = list(doors)
    for module in modules:
        for door in doors:
            if any(is_within(module.name, package) for package in door.behind):
                continue
            if "exit" in door.names and module.name.endswith(".__main__"):
                continue
            # One complaint per line, about the most telling name in it.
            for line, name in sorted(dict(sorted(module.uses(door.names))).items()):
                behind = ", ".join(
                    package for package in door.behind if is_within(package, module.name.split(".")[0])
                )
                yield f"{module.name}:{line} uses {name}: what {door.effect} lies behind {behind}"


def check_sizes(modules: Iterable[Module]) -> Iterator[str]:
    """Small rooms."""
    for module in modules:
        lines = len(module.text.splitlines())
        if lines > MODULE_LINES:
            yield f"{module.name} has {lines} lines, {MODULE_LINES} is the limit: split it by concern"
        for name, line, length in module.functions():
            if length > FUNCTION_LINES:
                yield f"{module.name}:{line} {name} has {length} lines, {FUNCTION_LINES} is the limit"


def check_names(modules: Iterable[Module]) -> Iterator[str]:
    """No drawer for things without a place, and nothing hidden in an `__init__`."""
    for module in modules:
        for part in module.name.split("."):
            if part in VAGUE_NAMES:
                yield f"{module.name}: {part} says nothing; name it after what it does"
        if module.is_package and module.part != "cli":
            for node in module.tree.body:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    yield f"{module.name}:{node.lineno} defines {node.name}: an __init__ only re-exports"
