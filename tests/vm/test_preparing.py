"""A machine is prepared where there is no cluster, joins later, and is pristine again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from flexlab import node_agent
from flexlab.node_agent.leave import UNINSTALL
from flexlab.testing import LabUnderTest, Machine
from vm.nodes import invocation, terminal_of, verb
from vm.pristine import differences, look

pytestmark = [pytest.mark.vm, pytest.mark.full, pytest.mark.timeout(1200)]

CHANGES = 10
CONFIG = "/etc/aks-flex-node/config.json"
OF_THE_CLUSTER = ("cluster", "auth", "node")


def configure(one: Machine, document: dict[str, Any]) -> None:
    # Not with echo: it would take the line breaks in a certificate for its own.
    one.sh(f"umask 77 && printf %s {shlex.quote(json.dumps(document))} >{CONFIG}")


def is_active(one: Machine, unit: str) -> bool:
    return one.sh(f"systemctl is-active {unit} || true").strip() == "active"


def test_a_machine_is_prepared_without_a_cluster_joins_later_and_is_pristine_again(
    make_machine: Callable[..., Machine], session_lab: LabUnderTest
) -> None:
    one = make_machine("edge1")
    before = look(one)
    node_agent.prepare(terminal_of(one), session_lab.parts)
    whole = json.loads(one.sh(f"cat {CONFIG}"))
    configure(one, {key: value for key, value in whole.items() if key not in OF_THE_CLUSTER})
    planned = verb(one, "plan", "bootstrap", "--prepare", expect=(CHANGES,))
    assert "unit:kubelet.service" not in {change["key"] for change in planned["changes"]}

    assert verb(one, "bootstrap", "--prepare")["result"] == "confirmed"
    assert is_active(one, "containerd")
    assert not is_active(one, "kubelet")
    assert verb(one, "status")["prepared"] is True
    assert verb(one, "bootstrap", "--prepare")["result"] == "unchanged"
    assert session_lab.kubectl("get", "nodes", "-o", "name", "--ignore-not-found").strip() == ""
    runtime = invocation(one, "containerd")

    configure(one, whole)
    joined = verb(one, "bootstrap")
    assert (joined["result"], joined["joined"]) == ("confirmed", True)
    assert not {key for key in joined["changes"] if "containerd" in key}
    assert invocation(one, "containerd") == runtime
    session_lab.kubectl("wait", "--for=condition=Ready", f"node/{one.node.name}", "--timeout=10s")
    assert verb(one, "plan")["changes"] == []
    one.run("aks-flex-node", "rollback", expect=(1,))
    one.run("aks-flex-node", "bootstrap", "--prepare", expect=(1,))

    assert verb(one, "unbootstrap", "--yes")["result"] == "left"
    assert session_lab.kubectl("get", "nodes", "-o", "name", "--ignore-not-found").strip() == ""
    one.sh(f"sh {UNINSTALL} --purge 2>&1", timeout=300)
    found = differences(before, look(one))
    assert not found, "\n".join(["", *found])
