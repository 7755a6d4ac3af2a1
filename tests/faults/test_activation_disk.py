"""The fault matrix, rows 4 to 6: a disk that is full, or read-only, under a node and under its state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faults.isolation import run_isolated

TESTS = Path(__file__).resolve().parents[1]

PREAMBLE = f"""
import json, os, sys
from pathlib import Path
sys.path.insert(0, {str(TESTS)!r})
from flexnode.errors import FlexError
from flexnode.generation import Generation
from unit.generation.samples import Lab, make_node

FIRST = make_node()
NEXT = make_node(kubelet="1.35.0", containerd_config="version = 3\\nnext = true\\n")
disk = Path("disk").absolute()
lab = Lab(disk / "state")
# What is fetched comes from elsewhere: only the state lies on the small disk.
lab.folder.mkdir()

def fill():
    with open(disk / "ballast", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass

def attempt(act):
    try:
        outcome = act()
    except FlexError as error:
        return {{"code": error.code, "transient": error.transient, "hint": error.hint}}
    return {{"result": outcome.result, "failure": outcome.failure and outcome.failure.code}}

def temporary():
    return [str(path) for path in lab.folder.rglob(".*.new")]
"""

TINY = "mkdir disk; mount -t tmpfs -o size=400k tmpfs disk"


def isolated(script: str, folder: Path, setup: str = TINY) -> Any:
    return run_isolated(PREAMBLE + script, setup=setup, folder=folder)


def test_no_space_for_the_state_keeps_the_state_and_the_machine(tmp_path: Path) -> None:
    """Row 5: nothing is truncated, nothing half written stays, and with space it goes on."""
    told = isolated(
        """
lab.activation.activate(FIRST)
memory, before = lab.memory(), lab.host.snapshot()
lab.observer = lambda moment, name, key: fill() if (moment, name) == ("end", "stage") else None
full = attempt(lambda: lab.activation.activate(NEXT))
lab.observer = lambda moment, name, key: None
after = lab.memory()
kept = {key: after[key] == memory[key] for key in ("current", "previous", "ledger", "blobs", "warning")}
same = lab.host.snapshot() == before
left = temporary()
(disk / "ballast").unlink()
again = attempt(lambda: lab.activation.recover() or lab.activation.activate(NEXT))
print(json.dumps({"full": full, "kept": kept, "same": same, "left": left, "again": again}))
""",
        tmp_path,
    )
    assert told["full"]["code"] == "state/no-space"
    assert told["full"]["transient"]
    assert "free some space" in told["full"]["hint"]
    assert all(told["kept"].values()), told["kept"]
    assert told["same"]
    assert told["left"] == []
    assert told["again"]["result"] == "confirmed"


def test_a_disk_that_fills_up_in_the_middle_of_an_upgrade_loses_nothing(tmp_path: Path) -> None:
    """Row 5, at every change of the upgrade: the node ends at one generation as soon as there is space."""
    told = isolated(
        """
import shutil
ends = []
for number in range(1, 10):
    lab = Lab(disk / "state")
    shutil.rmtree(lab.folder)
    lab.folder.mkdir()
    lab.activation.activate(FIRST)
    lab.host.writes.clear()
    lab.host.hook = lambda moment: fill() if len(lab.host.writes) == number else None
    upgrade = attempt(lambda: lab.activation.activate(NEXT))
    lab.host.hook = lambda moment: None
    (disk / "ballast").unlink(missing_ok=True)
    damaged = bool(lab.memory()["warning"])
    lab.activation.recover()
    current = lab.memory()["current"]
    end = attempt(lambda: lab.activation.activate(Generation()))
    known = current in (FIRST.id, NEXT.id)
    ends.append([upgrade.get("result") != "confirmed", damaged, known, end.get("result"), temporary()])
print(json.dumps(ends))
""",
        tmp_path,
    )
    assert told == [[True, False, True, "left", []]] * 9


def test_no_space_while_staging_leaves_the_node_alone_and_says_how_much_is_missing(tmp_path: Path) -> None:
    """Row 4."""
    told = isolated(
        """
lab.activation.activate(FIRST)
lab.host.writes.clear()
fill()
try:
    lab.activation.activate(NEXT)
except FlexError as error:
    failed = error.record()
left = [str(path) for path in lab.folder.rglob(".*") if path.is_file() and path.name != ".lock"]
journal = lab.memory()["journal"]
print(json.dumps({"failed": failed, "writes": lab.host.writes, "left": left, "journal": journal}))
""",
        tmp_path,
    )
    assert told["failed"]["code"] == "artifact/no-space"
    assert told["failed"]["kind"] == "transient"
    assert "more" in told["failed"]["message"]
    assert told["writes"] == []
    assert told["left"] == []
    assert not told["journal"]


@pytest.mark.parametrize("target", ["NEXT", "Generation()"])
def test_a_read_only_disk_is_told_before_anything_is_touched(tmp_path: Path, target: str) -> None:
    """Row 6: a plan and the state can still be read, and so be reported."""
    told = isolated(
        f"""
lab.activation.activate(FIRST)
lab.host.writes.clear()
os.system(f"mount -o remount,ro {{disk}}")
failed = attempt(lambda: lab.activation.activate({target}))
plan = len(lab.activation.plan({target}).changes)
current = lab.memory()["current"]
print(json.dumps({{"failed": failed, "writes": lab.host.writes, "plan": plan, "current": current}}))
""",
        tmp_path,
    )
    assert told["failed"]["code"] == "state/read-only"
    assert "read-write" in told["failed"]["hint"]
    assert told["writes"] == []
    assert told["plan"] > 3
    assert told["current"]
