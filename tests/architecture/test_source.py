"""The source keeps to the architecture. Each rule is also shown code that breaks it, and must see it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from architecture.rules import check_doors, check_layers, check_names, check_sizes
from architecture.source import Module, load_tree
from architecture.tables import DOORS, LABORATORY, PRODUCT, Layers

SOURCE = Path(__file__).resolve().parents[2] / "src"
PACKAGES = pytest.mark.parametrize("layers", [PRODUCT, LABORATORY], ids=lambda layers: layers.package)


def report(complaints: Iterable[str]) -> None:
    found = sorted(set(complaints))
    assert not found, "\n".join(["", *found])


@PACKAGES
def test_imports_point_down_only(layers: Layers) -> None:
    report(check_layers(load_tree(SOURCE, layers.package), layers))


@PACKAGES
def test_every_effect_lies_behind_its_door(layers: Layers) -> None:
    report(check_doors(load_tree(SOURCE, layers.package), DOORS))


@PACKAGES
def test_modules_and_functions_stay_small(layers: Layers) -> None:
    report(check_sizes(load_tree(SOURCE, layers.package)))


@PACKAGES
def test_modules_are_named_after_what_they_do(layers: Layers) -> None:
    report(check_names(load_tree(SOURCE, layers.package)))


def test_every_exception_in_the_tables_is_still_needed() -> None:
    """A door that nothing uses any more would let the next effect slip in unseen."""
    modules = [module for package in ("flexnode", "flexlab") for module in load_tree(SOURCE, package)]
    names = {module.name for module in modules}
    stale = []
    for door in DOORS:
        for package in door.behind:
            inside = [module for module in modules if (module.name + ".").startswith(package + ".")]
            written = package in names and any(module.tree.body for module in inside)
            if written and not any(True for module in inside for _ in module.uses(door.names)):
                stale.append(f"{package} no longer {door.effect}")
    report(stale)


def layered(modules: list[Module]) -> Iterable[str]:
    for layers in (PRODUCT, LABORATORY):
        yield from check_layers([m for m in modules if m.name.split(".")[0] == layers.package], layers)


def behind_doors(modules: list[Module]) -> Iterable[str]:
    return check_doors(modules, DOORS)


BROKEN = [
    (layered, "flexnode/model/wrong.py", "from flexnode.cli import progress", "lies above"),
    (layered, "flexnode/model/wrong.py", "import flexnode.host.command", "lies above"),
    (layered, "flexnode/model/wrong.py", "from .. import cli", "lies above"),
    (layered, "flexnode/model/wrong.py", "def late():\n    from flexnode import cli", "lies above"),
    (
        layered,
        "flexnode/model/wrong.py",
        "import importlib\nimportlib.import_module('flexnode.cli')",
        "lies above",
    ),
    (layered, "flexnode/kube/wrong.py", "from flexnode.host import run", "siblings"),
    (layered, "flexnode/cli/wrong.py", "def late():\n    import flexlab.lab", "builds on nothing of flexlab"),
    (layered, "flexnode/elsewhere.py", "", "in no layer"),
    (layered, "flexlab/paths.py", "from flexlab.lab import Lab", "lies above"),
    (behind_doors, "flexnode/model/wrong.py", "import subprocess", "starts programs"),
    (behind_doors, "flexnode/model/wrong.py", "from subprocess import run as go", "starts programs"),
    (behind_doors, "flexnode/model/wrong.py", "import os as o\no.execv('a', [])", "starts programs"),
    (behind_doors, "flexnode/host/wrong.py", "def late():\n    import httpx", "talks to the network"),
    (behind_doors, "flexnode/model/wrong.py", "print('x')", "prints"),
    (behind_doors, "flexlab/lab.py", "raise SystemExit(1)", "prints"),
    (behind_doors, "flexnode/model/wrong.py", "import time as t\nt.sleep(1)", "waits"),
    (behind_doors, "flexnode/host/wrong.py", "from datetime import datetime\nstart = datetime.now()", "time"),
    (check_sizes, "flexnode/model/wrong.py", "x = 1\n" * 400, "401 lines"),
    (check_sizes, "flexnode/model/wrong.py", "def f():\n" + "    x = 1\n" * 80, "f has 81 lines"),
    (check_names, "flexnode/host/helpers.py", "", "says nothing"),
    (check_names, "flexnode/kube/__init__.py", "class Client: ...", "only re-exports"),
]


@pytest.mark.parametrize(("check", "path", "text", "complaint"), BROKEN)
def test_a_broken_rule_is_seen(
    check: Callable[[list[Module]], Iterable[str]], path: str, text: str, complaint: str, tmp_path: Path
) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(text + "\n")
    modules = [module for layers in (PRODUCT, LABORATORY) for module in load_tree(tmp_path, layers.package)]
    assert [line for line in check(modules) if complaint in line]


def test_a_forbidden_import_in_the_real_tree_is_seen(tmp_path: Path) -> None:
    source = tmp_path / "src"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    sound = set(check_layers(load_tree(source, "flexnode"), PRODUCT))
    leaf = source / "flexnode" / "errors.py"
    leaf.write_text(leaf.read_text() + "\nfrom flexnode.cli.progress import open_progress\n")
    (complaint,) = set(check_layers(load_tree(source, "flexnode"), PRODUCT)) - sound
    assert "flexnode.errors" in complaint
    assert "cli lies above" in complaint


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.environ",
        "from urllib.parse import urlsplit",
        "import time\ntime.strftime('%Y')",
        "def show():\n    log.print('x')",
        "from datetime import datetime\ndatetime.fromisoformat('2026-01-01')",
    ],
)
def test_innocent_code_passes(text: str, tmp_path: Path) -> None:
    file = tmp_path / "flexnode" / "model" / "fine.py"
    file.parent.mkdir(parents=True)
    file.write_text(text + "\n")
    assert list(check_doors(load_tree(tmp_path, "flexnode"), DOORS)) == []
