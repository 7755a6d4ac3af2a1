"""The fault matrix, rows 4 to 6, for whole flows: the state directory's disk is really full, or read-only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from faults.isolation import run_isolated
from faults.scene import TERMINAL, TRANSIENT

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[1]
CHANGES = 10

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


PREAMBLE = f"""
import json, subprocess, sys

sys.path.insert(0, {str(TESTS)!r})

from faults.scene import open_scene

OLDER, NEWER = {{"kubernetes": "1.34"}}, {{"kubernetes": "1.35"}}

def mount(scene, options):
    state = scene.world.folder / "state"
    state.mkdir(exist_ok=True)
    what = () if "remount" in options else ("-t", "tmpfs", "tmpfs")
    subprocess.run(["mount", "-o", options, *what, state], check=True)

def fill(scene):
    with open(scene.world.folder / "state" / "ballast", "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass

def tell(scene, ended):
    failure = ended.failure or {{}}
    if not isinstance(failure, dict):
        failure = {{"code": failure.code, "kind": failure.kind, "message": failure.message}}
    files = [str(path) for path in scene.world.folder.rglob("*")]
    told.append({{
        **failure,
        "status": getattr(ended, "status", None),
        "phase": getattr(ended, "phase", None),
        "writes": len(scene.world.host.writes),
        "temporary": [path for path in files if path.endswith((".new", ".partial"))],
        "current": scene.world.memory()["current"],
        "desired": scene.world.memory()["desired"],
    }})

told = []
"""


def play(folder: Path, script: str) -> list[dict[str, object]]:
    told: list[dict[str, object]] = run_isolated(
        f"{PREAMBLE}{script}\nprint(json.dumps(told))", folder=folder, timeout=100
    )
    return told


@pytest.mark.parametrize("size", ["8k", "96k", "160k"])
def test_a_machine_whose_disk_is_too_small_is_not_touched_and_told_how_much_is_missing(
    tmp_path: Path, size: str
) -> None:
    """Row 4: at once, since waiting makes no room."""
    script = f"""
with open_scene() as scene:
    mount(scene, "size={size}")
    tell(scene, scene.type("bootstrap"))
    told[-1]["waited"] = scene.world.clock.monotonic()
    mount(scene, "remount,size=16m")
    tell(scene, scene.type("bootstrap"))
    subprocess.run(["umount", scene.world.folder / "state"])
"""
    full, roomy = play(tmp_path, script)
    assert (full["status"], full["kind"]) == (TRANSIENT, "transient")
    assert str(full["code"]).endswith("/no-space")
    assert re.search(r"needs [0-9.]+ k?B more", str(full["message"]))
    assert (full["writes"], full["temporary"], full["waited"]) == (0, [], 0)
    assert roomy["status"] == 0


def test_a_node_whose_disk_is_full_stays_as_it_is_until_there_is_room(tmp_path: Path) -> None:
    """Rows 4 and 5: a change through the daemon, and a leave."""
    script = """
with open_scene(versions=OLDER) as scene:
    mount(scene, "size=4m")
    scene.join()
    scene.live(5)
    fill(scene)
    scene.world.host.writes.clear()
    scene.configure(versions=NEWER)
    tell(scene, scene.live(60))
    tell(scene, scene.type("unbootstrap", "--yes"))
    (scene.world.folder / "state" / "ballast").unlink()
    tell(scene, scene.live(600))
    subprocess.run(["umount", scene.world.folder / "state"])
"""
    change, leave, roomy = play(tmp_path, script)
    assert (change["code"], change["kind"]) == ("artifact/no-space", "transient")
    assert re.search(r"needs [0-9.]+ k?B more", str(change["message"]))
    assert change["phase"] == "waiting"
    assert (leave["status"], leave["code"]) == (TRANSIENT, "state/no-space")
    assert re.search(r"needs [0-9.]+ k?B more", str(leave["message"]))
    for each in (change, leave):
        assert (each["writes"], each["temporary"], each["desired"]) == (0, [], "joined")
        assert each["current"] == change["current"]
    assert "code" not in roomy
    assert roomy["current"] not in (None, change["current"])


def test_on_a_read_only_disk_nothing_is_touched_and_everything_still_reported(tmp_path: Path) -> None:
    """Row 6."""
    script = """
with open_scene() as scene:
    mount(scene, "size=16m")
    scene.join()
    scene.live(5)
    mount(scene, "remount,ro")
    scene.world.host.writes.clear()
    scene.configure(kubelet={"maxPods": 42})
    for line in ("bootstrap", "unbootstrap --yes", "unbootstrap --yes --force", "rollback"):
        tell(scene, scene.type(*line.split()))
    tell(scene, scene.live(60))
    tell(scene, scene.type("status"))
    tell(scene, scene.type("plan"))
    mount(scene, "remount,rw")
    scene.bell.again = True
    tell(scene, scene.live(300))
    subprocess.run(["umount", scene.world.folder / "state"])
"""
    *verbs, daemon, status, plan, mended = play(tmp_path, script)
    for each in (*verbs, daemon):
        assert (each["code"], each["kind"], each["writes"]) == ("state/read-only", "terminal", 0)
    assert {each["status"] for each in verbs} == {TERMINAL}
    assert daemon["phase"] == "resting"
    assert (status["status"], plan["status"]) == (0, CHANGES)
    assert "code" not in mended
    assert mended["current"] not in (None, daemon["current"])
