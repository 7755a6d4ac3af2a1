"""What tests of joined machines share: verbs with JSON, drop-ins, and waiting for what is to become true."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

from flexlab import machine, node_agent
from flexlab.testing import LabUnderTest, Machine
from flexnode.clock import Clock
from flexnode.errors import FlexError
from flexnode.progress import Silent

PROGRAM = "aks-flex-node"
DROP_INS = "/etc/aks-flex-node/config.d"


def terminal_of(one: Machine) -> node_agent.Terminal:
    return node_agent.Terminal(lab=one.lab, node=one.node, progress=Silent())


def verb(one: Machine, *words: str, expect: tuple[int, ...] = (0,), timeout: float = 600) -> dict[str, Any]:
    """A verb's JSON."""
    done = one.run(PROGRAM, *words, "--output", "json", timeout=timeout, expect=expect)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def bring_to(
    one: Machine, milestone: str, work: Callable[[], object], *, ready_in: LabUnderTest | None = None
) -> None:
    """The machine as it is after `work`: done once in a session, remembered and brought back after that.

    `ready_in`: it is a node there by then. The test before may have deleted its Node: kubelet, started anew,
    registers again.
    """
    if not machine.has_snapshot(one.lab, one.node, milestone):
        work()
        machine.snapshot(one.lab, one.node, milestone)
        return
    machine.restore(one.lab, one.node, milestone)
    if ready_in is not None:
        one.sh("systemctl restart kubelet")
        wait_until("a node again", lambda: is_ready(ready_in, one.node.name), ready_in.clock, timeout=180)


def join(one: Machine, lab: LabUnderTest) -> None:
    """The machine is a node of the session's lab, and its agent runs."""
    bring_to(one, "joined", lambda: _join(one, lab), ready_in=lab)


def install(one: Machine, lab: LabUnderTest) -> None:
    """The program and its configuration are on the machine, and nothing has run yet."""
    bring_to(one, "installed", lambda: node_agent.prepare(terminal_of(one), lab.parts))


def _join(one: Machine, lab: LabUnderTest) -> None:
    node_agent.join(terminal_of(one), lab.parts, lab.clock)
    wait_until("confirmed", lambda: bool(verb(one, "status")["state"]["current"]), lab.clock, timeout=300)


def set_config(one: Machine, name: str, settings: dict[str, Any]) -> None:
    """A drop-in, whole or not at all, as an editor leaves it."""
    text = shlex.quote(json.dumps(settings))
    one.sh(f"mkdir -p {DROP_INS} && cd {DROP_INS} && echo {text} >.{name} && mv .{name} {name}.json")


def invocation(one: Machine, unit: str) -> str:
    return one.sh(f"systemctl show {unit} -p InvocationID --value").strip()


def node_object(lab: LabUnderTest, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lab.kubectl("get", "node", name, "-o", "json"))
    return found


def is_ready(lab: LabUnderTest, name: str) -> bool:
    found = lab.kubectl("get", "node", name, "-o", "json", "--ignore-not-found")
    conditions = json.loads(found)["status"].get("conditions", ()) if found else ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def wait_until(
    what: str, true: Callable[[], bool], clock: Clock, *, timeout: float, pause: float = 1.0
) -> None:
    """Ask until it is true; a machine that cannot be reached for now has not answered yet."""
    deadline = clock.monotonic() + timeout
    while True:
        try:
            if true():
                return
        except FlexError as error:
            if not error.transient:
                raise
        assert clock.monotonic() < deadline, f"{what}: not within {timeout:g} s"
        clock.sleep(pause)


def clear_cluster(lab: LabUnderTest) -> None:
    lab.kubectl("delete", "pods", "--all", "--force", "--grace-period=0")
    lab.kubectl("delete", "nodes", "--all")
