"""The fault matrix, rows 4 and 5, for a whole bootstrap: the state directory's disk is full, really full."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.isolation import run_isolated

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[1]

SCRIPT = f"""
import json, sys
from pathlib import Path

sys.path.insert(0, {str(TESTS)!r})

from flexnode.errors import FlexError
from flexnode.host import Command, run
from unit.flows.world import open_world

folder = Path.cwd() / "world"
tried = []
with open_world(folder) as world:
    for size in SIZES:
        run(Command(argv=("mount", "-o", f"remount,size={{size}}", str(folder / "state"))))
        world.host.writes.clear()
        try:
            outcome = world.bootstrap()
            failure = outcome.failure
            code, kind = (failure.code, failure.kind) if failure else ("", "")
            hint = failure.hint if failure else ""
            result = outcome.result
        except FlexError as error:
            code, kind, hint, result = error.code, error.kind, error.hint, "raised"
        state = world.directory.load_state()
        tried.append({{
            "result": result, "code": code, "kind": kind, "hint": hint, "writes": len(world.host.writes),
            "warning": state.warning, "current": state.value.current if state.value else None,
            "temporary": [str(path) for path in (folder / "state").rglob("*.new")],
        }})
print(json.dumps(tried))
"""


def bootstrap_on_disks_of(folder: Path, *sizes: str) -> list[dict[str, object]]:
    setup = "mkdir -p world/state; mount -t tmpfs -o size=4k tmpfs world/state"
    tried: list[dict[str, object]] = run_isolated(
        SCRIPT.replace("SIZES", repr(sizes)), setup=setup, folder=folder
    )
    return tried


@pytest.mark.parametrize("size", ["4k", "96k", "160k", "240k", "400k"])
def test_a_full_disk_truncates_nothing_and_is_gone_on_with(tmp_path: Path, size: str) -> None:
    """Whatever did not fit is said, to be tried again; what was recorded before is whole; then it works."""
    full, roomy = bootstrap_on_disks_of(tmp_path, size, "16m")
    assert full["result"] in ("raised", "unconfirmed")
    assert full["kind"] == "transient"
    assert str(full["code"]).endswith("no-space")
    assert "free" in str(full["hint"])
    assert full["warning"] == ""
    assert full["current"] is None
    assert full["temporary"] == []
    if full["result"] == "raised":
        assert full["writes"] == 0, "the machine was touched although not even its files fit"
    assert roomy["result"] == "confirmed", roomy
    assert roomy["warning"] == ""
