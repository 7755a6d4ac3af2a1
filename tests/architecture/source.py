"""Reads a source tree as syntax: which modules there are, what each imports, which outside names it uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Module:
    """One file. `name` is dotted; a package's `__init__` has the package's name."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, str(self.path))

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def part(self) -> str:
        """The name directly below the top package: what the layers speak about. Empty for the top itself."""
        return self.name.partition(".")[2].partition(".")[0]

    def imports(self) -> Iterator[tuple[int, str]]:
        """Every name that is imported: at the top, in a function, under TYPE_CHECKING, by import_module."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield node.lineno, alias.name
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                for alias in node.names:
                    yield node.lineno, base if alias.name == "*" else f"{base}.{alias.name}"
            elif isinstance(node, ast.Call) and self._called(node) in {
                "importlib.import_module",
                "__import__",
            }:
                for argument in node.args[:1]:
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                        yield node.lineno, argument.value

    def uses(self, patterns: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        """Where names that match (`os.exec*`, `subprocess`, `print`) are imported or used, also by alias."""
        for line, name in self.imports():
            if _matches(name, patterns):
                yield line, name
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Attribute, ast.Name)):
                name = self._resolve(node)
                if name is not None and _matches(name, patterns):
                    yield node.lineno, name

    def functions(self) -> Iterator[tuple[str, int, int]]:
        """Each function's name, first line and length in lines."""
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1

    @cached_property
    def _aliases(self) -> dict[str, str]:
        """What a name here stands for: `run` is `subprocess.run` after `from subprocess import run`."""
        aliases = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    local = alias.asname or alias.name.partition(".")[0]
                    aliases[local] = alias.name if alias.asname else local
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    aliases[alias.asname or alias.name] = f"{self._absolute(node)}.{alias.name}"
        return aliases

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
        base = package[: len(package) - node.level + 1]
        return ".".join([*base, *([node.module] if node.module else [])])

    def _resolve(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._aliases.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            base = self._resolve(node.value)
            return None if base is None else f"{base}.{node.attr}"
        return None

    def _called(self, node: ast.Call) -> str | None:
        return self._resolve(node.func)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    """`subprocess` means the module and all in it; a builtin (`print`) means exactly itself."""
    return any(fnmatchcase(name, pattern) or name.startswith(f"{pattern}.") for pattern in patterns)


def load_tree(source: Path, package: str) -> list[Module]:
    """All modules of `package` below the folder `source`."""
    modules = []
    for path in sorted((source / package).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules.append(Module(name=name, path=path))
    return modules


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")
