"""What the lab's network gives a stock machine, and what a fault takes away: all seen from the machine."""

from __future__ import annotations

import pytest

from flexlab import control_plane
from flexlab.gateway import DnsFault, GatewayFaults, ProxyFault
from flexlab.model import API_PORT, API_SERVER, PROXY_PORT
from flexlab.network import Impairment
from flexlab.testing import Faults, LabUnderTest, Machine

pytestmark = pytest.mark.vm

PROXY = f"http://proxy.lab.internal:{PROXY_PORT}"
READYZ = f"curl -sk -m 3 -o /dev/null -w '%{{http_code}}' https://{API_SERVER}:{API_PORT}/readyz"
PING = f"ping -c 5 -i 0.2 -W 2 -q {API_SERVER}"


def test_a_stock_machine_has_a_name_an_address_time_metadata_and_nothing_of_kubernetes(
    stock_machine: Machine,
) -> None:
    node = stock_machine.node
    assert stock_machine.sh("hostname").strip() == node.name
    assert str(node.address) in stock_machine.sh("hostname -I").split()
    assert str(API_SERVER) in stock_machine.sh("getent hosts api.lab.internal")
    described = stock_machine.sh(
        "curl -sf -H Metadata:true http://169.254.169.254/metadata/instance?api-version=2021-01-01"
    )
    assert node.uuid in described
    stock_machine.sh(
        "timeout 60 sh -c 'until timedatectl show -p NTPSynchronized | grep -q yes; do sleep 1; done'"
    )
    assert stock_machine.sh(
        "ls /opt /etc/kubernetes /etc/cni /etc/containerd 2>/dev/null || true"
    ).strip() in {"", "/opt:"}
    assert stock_machine.sh("command -v kubelet containerd runc || echo none").strip() == "none"
    assert stock_machine.sh("cat /sys/fs/cgroup/cgroup.controllers").strip() != ""


def test_a_machine_reaches_the_package_archives_through_the_proxy_and_nothing_without_it(
    stock_machine: Machine,
) -> None:
    apt = f"apt-get -o Acquire::http::Proxy={PROXY} -o Acquire::https::Proxy={PROXY} -q"
    stock_machine.sh(f"{apt} update", timeout=300)
    stock_machine.sh(f"{apt} install -y --no-install-recommends hello && hello", timeout=300)
    direct = "apt-get -q -o Acquire::Retries=0 -o Dir::State::Lists=/var/tmp update 2>&1 || true"
    assert "resolv" in stock_machine.sh(direct, timeout=300)
    refused = stock_machine.sh(f"curl -s -o /dev/null -w '%{{http_code}}' -x {PROXY} http://example.com/")
    assert refused == "403"


def test_a_broken_proxy_breaks_as_asked(stock_machine: Machine, fault: Faults) -> None:
    ask = f"curl -s -o /dev/null -w '%{{http_code}}' -x {PROXY} http://artifacts.lab.internal:8080/ || true"
    assert stock_machine.sh(ask) == "200"
    fault.gateway(GatewayFaults(proxy=ProxyFault.AUTH))
    assert stock_machine.sh(ask) == "407"
    fault.gateway(GatewayFaults(proxy=ProxyFault.REFUSE))
    assert stock_machine.sh(ask) == "000"


def test_broken_names_stop_resolving_and_come_back(stock_machine: Machine, fault: Faults) -> None:
    ask = "resolvectl flush-caches; getent hosts api.lab.internal >/dev/null && echo ok || echo failed"
    assert stock_machine.sh(ask).strip() == "ok"
    fault.gateway(GatewayFaults(dns=DnsFault.NXDOMAIN))
    assert stock_machine.sh(ask).strip() == "failed"
    fault.gateway(GatewayFaults())
    assert stock_machine.sh(ask).strip() == "ok"


def test_a_cut_line_is_silent_and_mends(stock_machine: Machine, fault: Faults) -> None:
    stock_machine.sh(f"nohup sh -c 'sleep 1; {READYZ} > /run/cut; true' >/dev/null 2>&1 &")
    fault.line(stock_machine, Impairment(loss_percent=100))
    fault.clock.sleep(6)  # longer than the machine's own attempt may take
    fault.mend_line(stock_machine)
    assert stock_machine.sh("cat /run/cut") == "000"
    assert stock_machine.sh(READYZ) == "200"


def test_a_slow_line_is_slow_by_the_delay_that_was_asked_for(stock_machine: Machine, fault: Faults) -> None:
    def round_trip() -> float:
        # The fastest of five: an emulated machine on a busy host answers late now and then.
        return float(stock_machine.sh(PING).rpartition("= ")[2].split("/")[0])

    before = round_trip()
    fault.line(stock_machine, Impairment(delay_ms=150))
    assert 300 < round_trip() < 300 + 20 * before + 200
    fault.mend_line(stock_machine)
    assert round_trip() < 150


def test_a_partitioned_machine_reaches_the_others_but_not_the_api_server(
    stock_machine: Machine, fault: Faults
) -> None:
    assert stock_machine.sh(READYZ) == "200"
    fault.line(stock_machine, Impairment(blocked=(f"{API_SERVER}/32",)))
    assert stock_machine.sh(f"{READYZ} || true") == "000"
    assert (
        stock_machine.sh("curl -s -o /dev/null -w '%{http_code}' http://artifacts.lab.internal:8080/")
        == "200"
    )


def test_the_control_plane_restarts_with_what_it_knew(session_lab: LabUnderTest) -> None:
    session_lab.kubectl("create", "configmap", "remembered", "--from-literal=a=b")
    lab = session_lab.lab
    control_plane.stop(lab)
    assert not control_plane.is_ready(lab, lab.require_place())
    assert control_plane.start(lab, session_lab.parts, session_lab.clock) < 10
    assert session_lab.kubectl("get", "configmap", "remembered", "-o", "jsonpath={.data.a}") == "b"
    session_lab.kubectl("delete", "configmap", "remembered")
