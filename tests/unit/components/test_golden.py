"""What other programs read on a node, byte for byte: a change of these files is a change for every node.

They lie in tests/golden/components, below the path that they have on a node. `resources.txt` beside them is
everything else: each resource in the order of application with what it costs. Write them anew, and read the
difference before it is committed:

    UPDATE_GOLDEN=1 .venv/bin/pytest tests/unit/components/test_golden.py
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from flexnode.components.node import compose_node
from flexnode.generation.generation import Generation
from flexnode.resources import Resource
from flexnode.resources.state import Directory, File
from unit.components.samples import CASES, texts

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "components"


def render(generation: Generation) -> dict[str, str]:
    files = {path.lstrip("/"): text for path, text in texts(generation).items()}
    listing = "".join(map(_render_line, generation.resources))
    return {**files, "resources.txt": listing}


def _render_line(resource: Resource) -> str:
    """Contents left out: those of files lie beside this one, those of programs are known by digest alone."""
    if isinstance(resource.want, File | Directory):
        state = f"{resource.want.mode:04o}"
    else:
        state = msgspec.json.encode(resource.want).decode()
    notes = [f"{resource.phase} {resource.disruption} {resource.key} {state}"]
    notes += [f"restarts {', '.join(resource.restarts)}"] if resource.restarts else []
    notes += [f"reloads {', '.join(resource.reloads)}"] if resource.reloads else []
    notes += [f"until {resource.until}"] if resource.until else []
    return "; ".join(notes) + "\n"


def read(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("case", CASES)
def test_a_node_is_made_of_the_files_that_were_reviewed(case: str) -> None:
    found = render(compose_node(CASES[case]))
    folder = GOLDEN / case
    if os.environ.get("UPDATE_GOLDEN"):
        shutil.rmtree(folder, ignore_errors=True)
        for name, text in found.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    assert found == read(folder)


def test_no_golden_file_is_left_of_a_case_that_is_gone() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(CASES)
