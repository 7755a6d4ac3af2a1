"""The fault matrix on real machines: what a fake cannot show, down to the exit code and what stays."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flexlab import machine
from flexlab.gateway import GatewayFaults, ProxyFault
from flexlab.model import API_SERVER, ARTIFACTS_TLS_PORT, DOMAIN, PROXY_PORT
from flexlab.network import Impairment
from flexlab.testing import Faults, LabUnderTest, Machine
from vm.nodes import PROGRAM, clear_cluster, install, is_ready, join, set_config, verb, wait_until

pytestmark = [pytest.mark.vm, pytest.mark.full, pytest.mark.timeout(1500)]

TERMINAL, TRANSIENT = 1, 75
OTHER_UUID = "0a0b0c0d-0000-4000-8000-000000000001"
PROXY = f"http://proxy.{DOMAIN}:{PROXY_PORT}"
MIRROR = f"https://artifacts.{DOMAIN}:{ARTIFACTS_TLS_PORT}"
DROP_IN = "/etc/systemd/system/kubelet.service"

# All that the product puts on a machine, apart from its own program, configuration and records.
TRACES = "ls -d /etc/kubernetes /etc/containerd /var/lib/kubelet /usr/local/bin/kubelet 2>/dev/null || true"

HOLD_DPKG = """
import fcntl, sys, time
file = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(file, fcntl.LOCK_EX)
open("/run/dpkg-held", "w").close()
time.sleep(float(sys.argv[1]))
"""


@pytest.fixture
def installed(make_machine: Callable[..., Machine], session_lab: LabUnderTest) -> Iterator[Machine]:
    """The program and its configuration lie on a stock machine, and nothing has run yet."""
    one = make_machine("edge1")
    install(one, session_lab)
    yield one
    clear_cluster(session_lab)


@pytest.fixture
def node(make_machine: Callable[..., Machine], session_lab: LabUnderTest) -> Iterator[Machine]:
    one = make_machine("edge1")
    join(one, session_lab)
    yield one
    clear_cluster(session_lab)


def refused(one: Machine, status: int, *words: str, timeout: float = 300) -> dict[str, Any]:
    """The failure that bootstrap ends with. The machine is untouched, and the record says the same."""
    said = verb(one, "bootstrap", *words, expect=(status,), timeout=timeout)
    failure: dict[str, Any] = said["error"]
    assert failure["kind"] == ("transient" if status == TRANSIENT else "terminal")
    assert failure["hint"]
    assert one.sh(TRACES) == ""
    provision = json.loads(one.sh("cat /var/lib/aks-flex-node/provision.json"))
    assert (provision["result"], provision["code"]) == ("failed", failure["code"])
    return failure


def agent_of(one: Machine) -> dict[str, Any]:
    found: dict[str, Any] = verb(one, "status")["agent"] or {}
    return found


class TestBeforeTheJoin:
    """Everything that a machine can be told before it is touched; seconds each."""

    def test_a_token_that_is_wrong_or_has_expired(
        self, installed: Machine, session_lab: LabUnderTest
    ) -> None:
        set_config(installed, "50-token", {"auth": {"bootstrapToken": "nobody.0123456789abcdef"}})
        assert refused(installed, TERMINAL)["code"] == "kube/unauthorized"
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "bootstrap.kubernetes.io/token",
            "metadata": {"name": "bootstrap-token-faulty", "namespace": "kube-system"},
            "stringData": {
                "token-id": "faulty",
                "token-secret": "0123456789abcdef",
                "usage-bootstrap-authentication": "true",
                "expiration": "2020-01-01T00:00:00Z",
            },
        }
        session_lab.kubectl("create", "-f", "-", stdin=json.dumps(secret).encode())
        set_config(installed, "50-token", {"auth": {"bootstrapToken": "faulty.0123456789abcdef"}})
        failure = refused(installed, TERMINAL)
        assert failure["code"] == "kube/unauthorized"
        assert "cluster token" in failure["hint"]

    def test_a_name_that_another_machine_has(self, installed: Machine, session_lab: LabUnderTest) -> None:
        name = installed.node.name
        theirs = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        session_lab.kubectl("create", "-f", "-", stdin=json.dumps(theirs).encode())
        patch = json.dumps({"status": {"nodeInfo": {"systemUUID": OTHER_UUID}}})
        session_lab.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", patch)
        failure = refused(installed, TERMINAL)
        assert failure["code"] == "preflight/node-name-taken"
        assert OTHER_UUID in failure["message"]
        assert OTHER_UUID in session_lab.kubectl("get", "node", name, "-o", "json")

    def test_a_mirror_of_an_authority_that_only_its_owner_knows(self, installed: Machine) -> None:
        set_config(installed, "50-mirror", {"artifacts": {"sources": [MIRROR]}})
        assert refused(installed, TERMINAL)["code"] == "artifact/untrusted-tls"
        ca = json.loads(installed.sh("cat /etc/aks-flex-node/config.json"))["cluster"]["ca"]
        installed.run("python3", "-c", f"open('/root/company.pem', 'w').write({ca!r})")
        set_config(
            installed, "50-mirror", {"artifacts": {"sources": [MIRROR], "caBundle": "/root/company.pem"}}
        )
        found = verb(installed, "preflight", expect=(0, 3))
        spoken = {each["name"]: each["level"] for each in found["findings"]}
        assert spoken["artifacts"] == spoken["artifact-sources"] == "ok"

    def test_a_proxy_that_refuses_and_one_that_wants_a_password(
        self, installed: Machine, fault: Faults
    ) -> None:
        set_config(installed, "50-proxy", {"proxy": {"http": PROXY, "https": PROXY}})
        fault.gateway(GatewayFaults(proxy=ProxyFault.AUTH))
        assert "proxy" in refused(installed, TERMINAL)["message"]
        fault.gateway(GatewayFaults(proxy=ProxyFault.REFUSE))
        assert "proxy" in refused(installed, TRANSIENT, "--timeout", "20s")["message"]

    @pytest.mark.parametrize("days", ["+1 day", "-1 day"])
    def test_a_clock_that_is_a_day_off(self, installed: Machine, days: str) -> None:
        installed.sh(f"systemctl stop systemd-timesyncd; date -s '{days}'")
        failure = refused(installed, TRANSIENT, "--timeout", "20s")
        assert failure["code"] == "kube/clock"
        assert "timedatectl" in failure["hint"]

    def test_an_api_server_that_is_down_and_stays_so(self, installed: Machine, fault: Faults) -> None:
        fault.line(installed, Impairment(blocked=(f"{API_SERVER}/32",)))
        begin = float(installed.sh("cut -d' ' -f1 /proc/uptime"))
        failure = refused(installed, TRANSIENT, "--timeout", "60s")
        assert failure["code"] == "kube/unreachable"
        assert float(installed.sh("cut -d' ' -f1 /proc/uptime")) - begin > 20


class TestJoining:
    def test_an_api_server_that_comes_up_in_time(
        self, installed: Machine, session_lab: LabUnderTest, fault: Faults
    ) -> None:
        fault.line(installed, Impairment(blocked=(f"{API_SERVER}/32",)))
        installed.sh(
            f"nohup sh -c '{PROGRAM} bootstrap >/root/log 2>&1; echo $? >/root/rc' >/dev/null 2>&1 &"
        )
        waits = "grep -q 'trying again' /root/log"
        wait_until(
            "it waits",
            lambda: installed.sh(f"{waits} && echo yes || true") != "",
            session_lab.clock,
            timeout=120,
        )
        fault.mend_line(installed)
        wait_until(
            "it ends", lambda: installed.sh("cat /root/rc 2>&- || true") != "", session_lab.clock, timeout=600
        )
        assert installed.sh("cat /root/rc").strip() == "0", installed.sh("cat /root/log")
        assert is_ready(session_lab, installed.node.name)

    def test_a_certificate_that_nobody_approves(self, installed: Machine, session_lab: LabUnderTest) -> None:
        bindings = json.loads(session_lab.kubectl("get", "clusterrolebindings", "-o", "json"))["items"]
        approving = [each for each in bindings if each["roleRef"]["name"].endswith(":nodeclient")]
        assert approving
        for each in approving:
            session_lab.kubectl("delete", "clusterrolebinding", each["metadata"]["name"])
        try:
            said = verb(installed, "bootstrap", "--timeout", "90s", expect=(TRANSIENT,))
            assert said["result"] == "unconfirmed"
            assert (said["failure"]["code"], said["failure"]["kind"]) == ("join/no-certificate", "transient")
            assert "kubectl get csr" in said["failure"]["hint"]
        finally:
            for each in approving:
                kept = {"name": each["metadata"]["name"]}
                whole = json.dumps({**each, "metadata": kept}).encode()
                session_lab.kubectl("create", "-f", "-", stdin=whole)
        assert verb(installed, "bootstrap")["result"] == "confirmed"
        assert is_ready(session_lab, installed.node.name)

    def test_a_package_manager_that_is_busy_and_one_that_was_killed(self, installed: Machine) -> None:
        """It is waited for; what was installed half-way is finished, and then the node's packages come."""
        settings = {"host": {"supportTools": True}, "proxy": {"http": PROXY, "https": PROXY}}
        set_config(installed, "50-packages", settings)
        apt = f"-o Acquire::http::Proxy={PROXY} -o Dir::State::Lists=/root/lists"
        installed.sh(
            f"mkdir -p /root/lists/partial && cd /root && apt-get -q {apt} update &&"
            f" apt-get -q {apt} download hello && dpkg --unpack hello_*.deb",
            timeout=300,
        )
        assert "unpacked" in installed.sh("dpkg-query -W -f '${Status}' hello")
        installed.run("python3", "-c", f"open('/root/hold.py', 'w').write({HOLD_DPKG!r})")
        installed.sh(
            "nohup python3 /root/hold.py 30 >/dev/null 2>&1 & until [ -e /run/dpkg-held ]; do sleep 0.1; done"
        )
        assert verb(installed, "bootstrap", "--prepare", timeout=900)["result"] == "confirmed"
        assert installed.sh("dpkg-query -W -f '${Status}' hello") == "install ok installed"
        assert installed.sh("dpkg --audit") == ""


class TestOnANode:
    def test_a_lock_of_an_earlier_boot(self, node: Machine, session_lab: LabUnderTest) -> None:
        node.sh("systemctl stop aks-flex-node-agent", timeout=180)
        lock = "/var/lib/aks-flex-node/lock"
        node.sh(
            f"nohup flock {lock} sleep 600 >/dev/null 2>&1 & until ! flock -n {lock} true; do sleep 0.1; done"
        )
        assert verb(node, "bootstrap", expect=(TRANSIENT,))["error"]["code"] == "state/busy"
        words = '{"pid":1,"boot":"%s","operation":"upgrade","since":"2026-01-01T00:00:00Z"}'
        node.sh(f"printf '{words}' $(cat /proc/sys/kernel/random/boot_id) >{lock}; sync")
        machine.reboot(node.lab, node.node, session_lab.clock)
        assert verb(node, "bootstrap")["result"] == "unchanged"

    def test_a_unit_that_somebody_masked_is_reported_or_repaired_by_policy(
        self, node: Machine, session_lab: LabUnderTest
    ) -> None:
        clock, name = session_lab.clock, node.node.name
        mask = (
            f"rm {DROP_IN} && ln -s /dev/null {DROP_IN} && systemctl daemon-reload && systemctl stop kubelet"
        )
        set_config(node, "50-drift", {"agent": {"drift": "report"}})
        node.sh("systemctl reload aks-flex-node-agent")
        node.sh(mask)
        wait_until("reported", lambda: DROP_IN in str(agent_of(node).get("drift")), clock, timeout=180)
        assert node.sh(f"readlink {DROP_IN}").strip() == "/dev/null"
        assert node.sh("systemctl is-active kubelet || true").strip() != "active"
        node.sh("rm /etc/aks-flex-node/config.d/50-drift.json")
        wait_until("repaired", lambda: node.sh(f"readlink {DROP_IN} || true") == "", clock, timeout=300)
        wait_until(
            "it runs",
            lambda: node.sh("systemctl is-active kubelet || true").strip() == "active",
            clock,
            timeout=120,
        )
        wait_until("Ready", lambda: is_ready(session_lab, name), clock, timeout=180)

    def test_a_root_file_system_that_turned_read_only(self, node: Machine, session_lab: LabUnderTest) -> None:
        """As after an error of its disk: nothing is lost, and everybody who asks is told."""
        current = verb(node, "status")["state"]["current"]
        set_config(node, "50-pods", {"kubelet": {"maxPods": 42}})
        node.sh("systemctl stop aks-flex-node-agent; sync; echo u >/proc/sysrq-trigger", timeout=180)
        wait_until(
            "read-only", lambda: node.sh("touch /root/x 2>&1 || true") != "", session_lab.clock, timeout=60
        )
        failure = verb(node, "bootstrap", expect=(TERMINAL,))["error"]
        assert "read-only" in failure["message"] + failure["code"]
        assert verb(node, "status")["state"]["current"] == current
        node.sh("systemctl start aks-flex-node-agent", timeout=180)
        wait_until(
            "the agent says so",
            lambda: "read-only" in json.dumps(agent_of(node)),
            session_lab.clock,
            timeout=180,
        )
        assert verb(node, "unbootstrap", "--yes", expect=(TERMINAL,))["error"]["kind"] == "terminal"
        assert node.sh("systemctl is-active kubelet containerd").split() == ["active", "active"]
