"""Machines without a network: one has a bundle and the API server alone, one a proxy as its only way out."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flexlab import handmade, machine, node_agent, process
from flexlab.model import (
    API_SERVER,
    ARTIFACTS_PORT,
    DOMAIN,
    GATEWAY,
    POD_NETWORK,
    PROXY_PORT,
    SERVICE_NETWORK,
)
from flexlab.network import Impairment
from flexlab.node_agent.leave import UNINSTALL
from flexlab.process import Place
from flexlab.testing import Faults, LabUnderTest, Machine
from vm.nodes import PROGRAM, clear_cluster, install, set_config, terminal_of, verb
from vm.pristine import differences, look

pytestmark = [pytest.mark.vm, pytest.mark.full, pytest.mark.timeout(1200)]

SSH_PORT = 22
KUBELET_PORT = 10250  # the API server comes from the same address as all else
GATEWAY_ALONE = (f"{GATEWAY}/32",)
"""All that a machine of the lab has but the API server: names, time, files, images, packages, the proxy."""

BUNDLE = "/root/node.tar"
LEFT_OUT = 3  # what the lab does not build, and a node works without

# The package manager's own books, which tell what it has done, and not what is on the machine.
BOOKS = (
    "/var/lib/dpkg/",
    "/var/lib/apt/extended_states",
    "/var/log/apt",
    "/var/log/dpkg.log",
    "/var/log/alternatives.log",
    "/etc/ld.so.cache",  # made anew by each transaction
)

# kubelet and the CNI plugins made them once iptables was there. Their chains are gone, and an empty table
# does nothing; the next boot has none.
EMPTY_TABLES = re.compile(r"\+ table (2|10) (filter|mangle|nat)")


@pytest.fixture
def one(make_machine: Callable[..., Machine], session_lab: LabUnderTest) -> Iterator[Machine]:
    yield make_machine("edge1")
    clear_cluster(session_lab)


@pytest.fixture
def bundle(session_lab: LabUnderTest, tmp_path: Path) -> Path:
    """What somebody makes who has a network."""
    parts = session_lab.parts
    path = tmp_path / "node.tar"
    words = ("artifacts", "bundle", str(path), "--suite", "bookworm", "--kubernetes", parts.kubernetes)
    sources = ("--source", str(parts.store), "--catalog", str(parts.overlay))
    program = str(Path(sys.executable).with_name(PROGRAM))
    place = Place(lab=session_lab.lab.folder)
    process.run(place, (program, *words, *sources), timeout=600, expect=(0, LEFT_OUT))
    return path


def isolate(one: Machine, fault: Faults, *open_ports: int) -> None:
    """Nothing but the API server answers the machine any more, and these ports of the gateway."""
    fault.line(one, Impairment(blocked=GATEWAY_ALONE, open_ports=(SSH_PORT, KUBELET_PORT, *open_ports)))
    get = f"curl -s -m 5 -o /dev/null http://{GATEWAY}:{ARTIFACTS_PORT}/ && echo reached || echo isolated"
    assert one.sh(get).strip() == "isolated"


def packages(one: Machine) -> list[str]:
    said = one.sh("dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\n'")
    return sorted(said.splitlines())


def environment(one: Machine, unit: str) -> dict[str, str]:
    """What the unit's running process was started with."""
    pid = one.sh(f"systemctl show {unit} -p MainPID --value").strip()
    lines = one.sh(f"tr '\\0' '\\n' </proc/{pid}/environ").splitlines()
    return dict(line.partition("=")[::2] for line in lines)


def test_a_machine_with_a_bundle_and_no_network_joins_and_is_what_it_was_again(
    one: Machine, session_lab: LabUnderTest, fault: Faults, bundle: Path
) -> None:
    isolate(one, fault)
    image = session_lab.parts.image("busybox")
    machine.push(one.lab, one.node, bundle, BUNDLE)
    machine.push(one.lab, one.node, image.path, "/root/busybox.tar")
    before, had = look(one), packages(one)

    node_agent.prepare(terminal_of(one), session_lab.parts)
    settings = {"artifacts": {"sources": [BUNDLE]}, "host": {"supportTools": True}}
    set_config(one, "offline", settings)
    assert verb(one, "bootstrap", timeout=900)["result"] == "confirmed"
    came = {line.split()[0] for line in packages(one)} - {line.split()[0] for line in had}
    assert {"conntrack", "libnetfilter-conntrack3", "socat", "ethtool"} <= came
    assert set(had) <= set(packages(one)), "a package of the machine's own was changed"
    one.sh("conntrack -V && socat -V >/dev/null")
    assert one.sh("ls /var/cache | grep aks-flex-node || true") == ""

    one.sh("ctr --namespace k8s.io images import /root/busybox.tar", timeout=300)
    handmade.run_pod(session_lab.lab, session_lab.parts, "web", one.node, timeout=240)
    assert "serving" in session_lab.kubectl("logs", "web")
    assert verb(one, "bootstrap")["result"] == "unchanged"

    assert verb(one, "unbootstrap", "--yes", timeout=900)["result"] == "left"
    one.sh(f"sh {UNINSTALL} --purge 2>&1", timeout=300)
    assert packages(one) == had
    changed = differences(before, look(one))
    assert "chain KUBE-" not in one.sh("nft list ruleset")
    assert "chain CNI-" not in one.sh("nft list ruleset")
    found = [
        line
        for line in changed
        if not any(word.startswith(BOOKS) for word in line.split()) and not EMPTY_TABLES.fullmatch(line)
    ]
    assert not found, "\n".join(["", *found])


def test_a_machine_whose_only_way_out_is_a_proxy_joins_and_runs_pods(
    one: Machine, session_lab: LabUnderTest, fault: Faults
) -> None:
    install(one, session_lab)
    isolate(one, fault, PROXY_PORT)
    assert one.sh(f"timeout 20 getent hosts artifacts.{DOMAIN} || echo unknown").strip() == "unknown"
    proxy = f"http://{GATEWAY}:{PROXY_PORT}"
    way = {"http": proxy, "https": proxy, "noProxy": [str(API_SERVER)]}
    set_config(one, "proxy", {"proxy": way, "host": {"supportTools": True}})
    assert verb(one, "bootstrap", timeout=900)["result"] == "confirmed"

    for unit in ("containerd", "kubelet"):
        found = environment(one, unit)
        assert (found["HTTP_PROXY"], found["HTTPS_PROXY"]) == (proxy, proxy)
        assert str(API_SERVER) in found["NO_PROXY"].split(",")
    exempt = environment(one, "kubelet")["NO_PROXY"].split(",")
    assert {str(POD_NETWORK), str(SERVICE_NETWORK), ".svc", "127.0.0.1"} <= set(exempt)

    one.sh("conntrack -V", timeout=60)  # apt has no proxy of its own on a stock machine
    handmade.run_pod(session_lab.lab, session_lab.parts, "web", one.node, timeout=240)
    assert "serving" in session_lab.kubectl("logs", "web")
    assert verb(one, "unbootstrap", "--yes", timeout=900)["result"] == "left"


def test_a_machine_without_a_network_or_a_bundle_is_told_what_to_do(
    one: Machine, session_lab: LabUnderTest, fault: Faults
) -> None:
    install(one, session_lab)
    isolate(one, fault)
    set_config(one, "tools", {"host": {"supportTools": True}})
    wanted = f"aks-flex-node artifacts bundle FILE --kubernetes {session_lab.parts.kubernetes}"
    done = one.run(PROGRAM, "preflight", "--output", "json", timeout=180, expect=(0, 1, 3, 75))
    findings = json.loads(done.stdout)["findings"]
    for name in ("artifacts", "packages"):
        hints = [each["hint"] for each in findings if each["name"] == name]
        assert any(wanted in hint and "--suite bookworm" in hint for hint in hints), hints
