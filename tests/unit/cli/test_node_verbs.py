"""The verbs that make, change and end a node, as their user meets them: what is shown, and the exit code."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flexnode.cli.ending import run
from flexnode.cli.root import root
from flexnode.kube import Request
from unit.flows.samples import NODE, NODE_PATH
from unit.flows.world import CATALOG, TOKEN, World, open_world
from unit.generation.samples import Crash
from unit.kube.samples import pod, pod_path

NEWER = CATALOG.release_set("1.35").kubernetes

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="these verbs need root, whatever machine they change"
)


@dataclass
class Terminal:
    """Types verbs, and reads what they show."""

    world: World
    capsys: pytest.CaptureFixture[str]
    out: str = ""
    err: str = ""

    def type(self, verb: str, *words: str, **sections: Any) -> int:
        self.world.resolved(complete=False, **sections)  # writes the configuration
        config = str(self.world.folder / "etc" / "config.json")
        arguments = [verb, *words, "--config", config]
        code = run(root, "aks-flex-node", arguments, given=self.world.workplace)
        self.out, self.err = self.capsys.readouterr()
        return code

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    memory = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name,
        open_world(Path(name)) as world,
    ):
        yield Terminal(world, capsys)


def test_from_a_machine_to_a_node_and_back(terminal: Terminal) -> None:
    """The whole life, by the exit codes that a script goes by."""
    assert terminal.type("plan") == 10
    assert "start kubelet.service" in terminal.out
    assert " changes, disruption: " in terminal.out.splitlines()[-1]
    assert terminal.type("bootstrap") == 0
    assert terminal.out.startswith("the node is Ready\n")
    assert terminal.err == ""
    assert terminal.type("plan") == 0
    assert terminal.out == "nothing to do\n"
    assert terminal.type("bootstrap") == 0
    assert terminal.out.startswith("nothing to do: the node is as it should be\n")
    assert terminal.type("plan", "unbootstrap") == 10
    assert terminal.type("unbootstrap", "--yes") == 0
    assert terminal.out.startswith("the machine has left its cluster\n")
    assert terminal.type("unbootstrap", "--yes") == 0
    assert terminal.out.startswith("nothing to do: this machine is no node\n")
    assert terminal.type("plan", "unbootstrap") == 0


def test_ahead_of_the_join(terminal: Terminal) -> None:
    """For a template: no cluster is named, and none is there."""
    alone: dict[str, Any] = {"cluster": {}, "auth": {}, "versions": {"kubernetes": "1.35"}}
    terminal.world.api_down = True
    assert terminal.type("bootstrap", **alone) == 2, "a node needs a cluster"
    assert terminal.type("plan", "--prepare", **alone) == 10
    assert "kubelet.service" in terminal.out
    assert "start kubelet" not in terminal.out
    assert terminal.type("bootstrap", "--prepare", **alone) == 0
    assert terminal.out.startswith("the machine is prepared, and joins no cluster yet\n")
    assert terminal.type("bootstrap", "--prepare", **alone) == 0
    assert terminal.out.startswith("nothing to do: the machine is prepared\n")
    assert terminal.type("plan", "bootstrap", "--prepare", **alone) == 0
    assert terminal.type("unbootstrap", "--yes", **alone) == 0
    assert terminal.out.startswith("what was prepared is undone\n")


def test_from_a_prepared_machine_to_a_node(terminal: Terminal) -> None:
    terminal.type("bootstrap", "--prepare")
    assert terminal.type("plan") == 10
    assert "containerd" not in terminal.out
    assert terminal.type("bootstrap") == 0
    assert terminal.out.startswith("the node is Ready\n")
    assert terminal.type("rollback") == 1
    assert "generation/would-leave" in terminal.err
    assert "`aks-flex-node unbootstrap`" in terminal.err
    assert terminal.type("bootstrap", "--prepare") == 1
    assert terminal.type("plan", "--prepare") == 1
    assert terminal.type("plan", "unbootstrap", "--prepare") == 2
    assert "--prepare" in terminal.err
    assert terminal.type("plan") == 0


def test_programs_get_one_document_from_each(terminal: Terminal) -> None:
    assert terminal.type("plan", "--output", "json") == 10
    assert terminal.data["changes"][0].keys() == {"key", "summary", "disruption"}
    assert terminal.type("bootstrap", "--output", "json") == 0
    assert terminal.data["result"] == "confirmed"
    assert terminal.data["operation"] == "bootstrap"
    assert TOKEN not in terminal.out
    assert terminal.type("recover", "--now", "--output", "json") == 0
    assert terminal.data == {"recovered": None}
    assert terminal.type("unbootstrap", "--yes", "--output", "json") == 0
    assert terminal.data["result"] == "left"


def test_a_change_and_the_way_back(terminal: Terminal) -> None:
    terminal.type("bootstrap", versions={"kubernetes": "1.34"})
    assert terminal.type("bootstrap", versions={"kubernetes": "1.35"}) == 0
    assert "restarted" in terminal.out
    assert terminal.type("rollback") == 0
    assert terminal.out.startswith("the node is Ready as it was before\n")
    assert terminal.type("bootstrap", versions={"kubernetes": "1.35"}) == 1, "a person left it behind"
    assert "generation/rejected" in terminal.err


def test_a_change_that_fails_is_told_with_what_is_left(terminal: Terminal) -> None:
    terminal.type("bootstrap", versions={"kubernetes": "1.34"})
    terminal.world.broken.add(NEWER)
    assert terminal.type("bootstrap", versions={"kubernetes": "1.35"}) == 75
    assert terminal.out.startswith("the change did not work; the node is Ready as it was before\n")
    assert "node/not-ready" in terminal.err
    assert terminal.type("bootstrap", versions={"kubernetes": "1.35"}) == 1
    assert "generation/rejected" in terminal.err
    assert "--retry" in terminal.err
    terminal.world.broken.clear()
    assert terminal.type("bootstrap", "--retry", versions={"kubernetes": "1.35"}) == 0


def test_a_first_bootstrap_that_waits_in_vain_says_so(terminal: Terminal) -> None:
    terminal.world.broken.add(NEWER)
    assert terminal.type("bootstrap", "--timeout", "1m") == 75
    assert terminal.out.startswith("everything is in place, and the node is not Ready yet\n")
    assert "did not become Ready within 60 s" in terminal.err


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_cluster_that_is_away_is_75_and_a_wrong_token_is_1(terminal: Terminal, output: str) -> None:
    terminal.world.api_down = True
    assert terminal.type("bootstrap", "--output", output) == 75
    assert "trying again may help" in terminal.err
    terminal.world.api_down = False
    terminal.world.accepted = "000000.0000000000000000"
    assert terminal.type("bootstrap", "--output", output) == 1
    assert "kube/unauthorized" in terminal.err
    if output == "json":
        assert terminal.data["error"]["kind"] == "terminal"


def test_leaving_by_force_tells_what_stays_behind(terminal: Terminal) -> None:
    terminal.type("bootstrap")
    terminal.world.api_down = True
    assert terminal.type("unbootstrap", "--yes") == 75
    assert "--force" in terminal.err
    assert terminal.type("unbootstrap", "--yes", "--force") == 3
    assert f"kubectl delete node {NODE}" in terminal.out


def test_leaving_goes_on_when_the_api_server_is_back(terminal: Terminal) -> None:
    """Row 24: it goes away in the middle of the drain, and the node is cordoned all the while."""
    world = terminal.world
    terminal.type("bootstrap")
    world.cluster.put(pod_path(), pod(node=NODE))
    cordoned: list[bool] = []

    def before(request: Request) -> None:
        if request.path.endswith("/eviction") and not cordoned:
            world.api_down = True
            world.clock.at(world.clock.monotonic() + 100, come_back)
            raise world.cluster.refuse(503, "the server is stopping")

    def come_back() -> None:
        node = world.cluster.get(NODE_PATH)
        cordoned.append(node is not None and node["spec"].get("unschedulable") is True)
        world.api_down = False

    world.cluster.before = before
    assert terminal.type("unbootstrap", "--yes") == 0
    assert cordoned == [True]
    assert world.cluster.get(NODE_PATH) is None
    assert world.cluster.get(pod_path()) is None


def test_there_is_no_way_back_from_the_first_generation(terminal: Terminal) -> None:
    terminal.type("bootstrap")
    assert terminal.type("rollback") == 1
    assert "generation/no-previous" in terminal.err


def die(terminal: Terminal, at: str, *words: str) -> None:
    def pull(moment: str) -> None:
        if moment.startswith(f"before {at}"):
            raise Crash(moment)

    terminal.world.host.hook = pull
    with pytest.raises(Crash):
        terminal.type(*words)  # type: ignore[arg-type]
    terminal.world.host.hook = lambda _moment: None


def test_what_was_cut_off_is_ended_at_boot_and_after(terminal: Terminal) -> None:
    die(terminal, "start kubelet", "bootstrap")
    assert terminal.type("recover") == 0
    assert terminal.out == "the machine's files are of one generation\n"
    assert terminal.type("recover", "--now") == 0
    assert terminal.out.startswith("what was cut off has ended: confirmed\n")
    assert terminal.type("recover", "--now") == 0
    assert terminal.out == "nothing was cut off\n"


def test_a_machine_at_work_is_busy(terminal: Terminal) -> None:
    """Row 28: whoever comes second is told who is first, and to try again."""
    codes: list[int] = []

    def ask_again(moment: str) -> None:
        if moment.startswith("before start kubelet"):
            config = str(terminal.world.folder / "etc" / "config.json")
            arguments = ["unbootstrap", "--yes", "--config", config]
            codes.append(run(root, "aks-flex-node", arguments, given=terminal.world.workplace))

    terminal.world.host.hook = ask_again
    assert terminal.type("bootstrap") == 0
    assert codes == [75]
    assert "state/busy" in terminal.err
    assert "bootstrap" in terminal.err
