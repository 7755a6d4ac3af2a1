"""A machine that was somebody's before it became a node: what they set up works all the while, and stays."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from flexlab import handmade, machine, node_agent, process
from flexlab.handmade import workload
from flexlab.model import PROXY_PORT
from flexlab.node_agent.leave import UNINSTALL
from flexlab.testing import LabUnderTest, Machine
from vm.nodes import PROGRAM, clear_cluster, install, is_ready, terminal_of, verb, wait_until
from vm.pristine import differences, look, look_at_kernel

pytestmark = [pytest.mark.vm, pytest.mark.full, pytest.mark.timeout(1800)]

PROXY = f"http://proxy.lab.internal:{PROXY_PORT}"
APT = (
    "DEBIAN_FRONTEND=noninteractive apt-get -q"
    f" -o Acquire::http::Proxy={PROXY} -o Acquire::https::Proxy={PROXY}"
)

OPEN_PORT, SHUT_PORT = 4445, 4444

# What an owner may have: a firewall, kernel settings, swap, a job, and files where a node has its own.
SETUP = rf"""
set -e
command -v nft >/dev/null || {{ {APT} update; {APT} install -y nftables; }}
cat >/etc/nftables.conf <<'END'
#!/usr/sbin/nft -f
flush ruleset
table inet site {{
    chain input {{
        type filter hook input priority filter; policy accept;
        tcp dport {SHUT_PORT} reject
    }}
    chain forward {{
        type filter hook forward priority filter; policy accept;
        ip daddr 203.0.113.0/24 drop
    }}
}}
END
systemctl enable --quiet --now nftables.service

cat >/etc/sysctl.d/50-site.conf <<'END'
net.ipv4.ip_forward = 0
kernel.panic = 60
vm.overcommit_memory = 0
vm.swappiness = 13
net.ipv4.conf.all.rp_filter = 2
net.ipv4.conf.all.accept_redirects = 0
END

fallocate -l 64M /swapfile
chmod 0600 /swapfile
mkswap -q /swapfile
echo '/swapfile none swap sw 0 0' >>/etc/fstab

echo '* * * * * root date +\%s >>/run/site-ticks' >/etc/cron.d/site

printf '#!/bin/sh\necho theirs\n' >/usr/local/bin/kubectl
chmod 0750 /usr/local/bin/kubectl
chown daemon:adm /usr/local/bin/kubectl
mkdir -p /etc/systemd/logind.conf.d
printf '[Login]\nInhibitDelayMaxSec=7\n' >/etc/systemd/logind.conf.d/99-kubelet.conf
chmod 0640 /etc/systemd/logind.conf.d/99-kubelet.conf
touch -d '2020-02-02 02:02:02' /usr/local/bin/kubectl /etc/systemd/logind.conf.d/99-kubelet.conf
"""

KERNEL_SETTINGS = (
    "sysctl -n net.ipv4.ip_forward kernel.panic vm.overcommit_memory"
    " vm.swappiness net.ipv4.conf.all.rp_filter net.ipv4.conf.all.accept_redirects"
)
THEIRS = ["0", "60", "0", "13", "2", "0"]
JOINED = ["1", "10", "1", "13", "2", "0"]  # what a node needs, and what it does not mind

MASQUERADE = "table inet aks-flex-node"
TICKS = "cat /run/site-ticks 2>/dev/null || true"

TAKEN = {"preflight/other-runtime", "preflight/socket-taken"}

# What the product may write when it refuses: its own state and log.
OWN = ("/var/lib/aks-flex-node", "/var/log/aks-flex-node")


@pytest.fixture
def theirs(make_machine: Callable[..., Machine], session_lab: LabUnderTest) -> Iterator[Machine]:
    """A machine that is somebody's."""
    one = make_machine("edge1")
    yield one
    clear_cluster(session_lab)


def require_same(before: list[str], after: list[str]) -> None:
    found = differences(before, after)
    assert not found, "\n".join(["", *found])


def add_services(one: Machine) -> None:
    """Two that their firewall lets in, and not."""
    for port in (OPEN_PORT, SHUT_PORT):
        one.sh(
            f"""cat >/etc/systemd/system/site-{port}.service <<'END'
[Service]
ExecStart=/usr/bin/python3 -m http.server {port} --directory /srv
[Install]
WantedBy=multi-user.target
END
systemctl enable --quiet --now site-{port}.service"""
        )


def answers(one: Machine, port: int) -> bool:
    """Whether a service of the machine can be reached by its neighbours."""
    ask = ("curl", "-s", "-o", "/dev/null", "-m", "5", f"http://{one.node.address}:{port}/")
    return process.run(one.lab.require_place(), ask, expect=tuple(range(256))).returncode == 0


def require_their_firewall(one: Machine) -> None:
    assert answers(one, OPEN_PORT)
    assert not answers(one, SHUT_PORT)


def run_a_pod(one: Machine, lab: LabUnderTest) -> None:
    handmade.run_pod(lab.lab, lab.parts, "web", one.node, timeout=240)
    assert "serving" in lab.kubectl("logs", "web")
    fetch = ("exec", "web", "--", "wget", "-q", "-O", "-", f"http://127.0.0.1:{workload.PORT}/")
    assert lab.kubectl(*fetch).strip() == "web"


def iptables_rules(one: Machine) -> str:
    """All of them, without what was counted."""
    return one.sh("{ iptables-save; ip6tables-save; } | sed -e '/^#/d' -e 's/\\[[0-9:]*\\]//'")


def swaps(one: Machine) -> list[str]:
    return one.sh("swapon --noheadings --show=NAME").split()


def refusal(one: Machine) -> tuple[str, set[str]]:
    """A bootstrap that ends before it begins: its one code, and the codes of all that preflight minds."""
    report = verb(one, "preflight", expect=(1,))
    errors = [each for each in report["findings"] if each["level"] == "error"]
    assert all(each["hint"] for each in errors)
    done = one.run(PROGRAM, "bootstrap", "--output", "json", timeout=300, expect=(1,))
    return json.loads(done.stdout)["error"]["code"], {each["code"] for each in errors}


def test_what_an_owner_set_up_works_under_a_node_and_is_untouched_after_it(
    theirs: Machine, session_lab: LabUnderTest
) -> None:
    one, lab = theirs, session_lab
    one.sh(SETUP)
    add_services(one)
    machine.reboot(one.lab, one.node, lab.clock)
    wait_until("their services run", lambda: answers(one, OPEN_PORT), lab.clock, timeout=60)
    kernel, before = look_at_kernel(one), look(one)
    assert (one.sh(KERNEL_SETTINGS).split(), swaps(one)) == (THEIRS, ["/swapfile"])
    require_their_firewall(one)
    rules = one.sh("nft list table inet site")

    node_agent.prepare(terminal_of(one), lab.parts)
    assert verb(one, "bootstrap")["result"] == "confirmed"
    run_a_pod(one, lab)
    require_their_firewall(one)
    assert one.sh("nft list table inet site") == rules
    assert (one.sh(KERNEL_SETTINGS).split(), swaps(one)) == (JOINED, [])
    assert one.sh("/usr/local/bin/kubectl version --client").startswith("Client Version")

    # They load their rules again, which flushes all others: the node's come back with them.
    one.sh("systemctl reload nftables.service")
    wait_until("masquerade", lambda: MASQUERADE in one.sh("nft list ruleset"), lab.clock, timeout=30)
    assert one.sh("nft list table inet site") == rules

    machine.reboot(one.lab, one.node, lab.clock)
    whole = lambda: verb(one, "plan", expect=(0, 10))["changes"] == []  # noqa: E731
    wait_until("whole again", whole, lab.clock, timeout=240)
    wait_until("Ready again", lambda: is_ready(lab, one.node.name), lab.clock, timeout=240)
    assert (one.sh(KERNEL_SETTINGS).split(), swaps(one)) == (JOINED, [])
    assert one.sh("nft list table inet site") == rules
    wait_until("their services run", lambda: answers(one, OPEN_PORT), lab.clock, timeout=60)
    require_their_firewall(one)

    assert verb(one, "unbootstrap", "--yes")["result"] == "left"
    assert (one.sh(KERNEL_SETTINGS).split(), swaps(one)) == (THEIRS, ["/swapfile"])
    one.sh(f"sh {UNINSTALL} --purge 2>&1", timeout=300)
    look_at_kernel(one)  # as before the first look: reading every sysctl mounts one
    require_same(before, look(one))
    require_their_firewall(one)
    ticks = one.sh(TICKS)
    wait_until("their job runs", lambda: one.sh(TICKS) != ticks, lab.clock, timeout=120)

    machine.reboot(one.lab, one.node, lab.clock)
    wait_until("their services run", lambda: answers(one, OPEN_PORT), lab.clock, timeout=60)
    require_same(kernel, look_at_kernel(one))
    require_same(before, look(one))
    assert (one.sh(KERNEL_SETTINGS).split(), swaps(one)) == (THEIRS, ["/swapfile"])


def test_ufw_stays_on_under_a_node_and_after_it(theirs: Machine, session_lab: LabUnderTest) -> None:
    one, lab = theirs, session_lab
    one.sh(f"{APT} update && {APT} install -y --no-install-recommends ufw", timeout=600)
    allow = " && ".join(f"ufw allow {port}/tcp" for port in (22, 10250, OPEN_PORT))
    one.sh(f"{allow} && ufw default allow routed && ufw --force enable", timeout=300)
    add_services(one)
    wait_until("their services run", lambda: answers(one, OPEN_PORT), lab.clock, timeout=60)
    require_their_firewall(one)
    before, status, rules = look(one), one.sh("ufw status verbose"), iptables_rules(one)

    node_agent.prepare(terminal_of(one), lab.parts)
    found = {each["code"]: each["level"] for each in verb(one, "preflight")["findings"]}
    assert found["preflight/firewall-ufw"] == "warning"
    assert verb(one, "bootstrap")["result"] == "confirmed"
    run_a_pod(one, lab)
    require_their_firewall(one)
    assert one.sh("ufw status verbose") == status

    assert verb(one, "unbootstrap", "--yes")["result"] == "left"
    one.sh(f"sh {UNINSTALL} --purge 2>&1", timeout=300)
    require_same(before, look(one))
    assert (one.sh("ufw status verbose"), iptables_rules(one)) == (status, rules)
    require_their_firewall(one)


def test_nothing_behind_a_mount_is_lost(theirs: Machine, session_lab: LabUnderTest) -> None:
    """Where a node is to write, a mount is refused; whoever goes on all the same keeps what is behind it."""
    one, lab = theirs, session_lab
    place = "/var/lib/kubelet/models"
    install(one, lab)
    one.sh(f"mkdir -p /srv/empty /srv/models/large {place} && mount --bind /srv/empty {place}")
    one.sh("echo weights >/srv/models/large/weights && chmod 0600 /srv/models/large/weights")
    behind = "find /srv/models -printf '%p %y %m %U %s %T@\\n' | sort"
    before = one.sh(behind)
    # An empty disk is somebody's as well.
    mounts = one.sh("findmnt -rn")
    assert refusal(one) == ("preflight/left-over-mounts", {"preflight/left-over-mounts"})
    assert one.sh("findmnt -rn") == mounts

    one.sh(f"umount {place} && mount --bind /srv/models {place}")
    assert refusal(one) == ("preflight/left-overs", {"preflight/left-overs"})
    assert verb(one, "bootstrap", "--ignore", "left-overs")["result"] == "confirmed"
    assert one.sh(f"cat {place}/large/weights") == "weights\n"
    assert verb(one, "unbootstrap", "--yes")["result"] == "left"
    assert one.sh(behind) == before


def test_a_machine_with_docker_or_a_containerd_is_refused_and_left_alone(
    theirs: Machine, session_lab: LabUnderTest
) -> None:
    one, lab = theirs, session_lab
    one.sh(f"{APT} update && {APT} install -y --no-install-recommends docker.io", timeout=1200)
    node_agent.prepare(terminal_of(one), lab.parts)
    one.sh("docker ps", timeout=120)

    before = [line for line in look(one) if not line.startswith(OWN)]
    assert refusal(one) == ("preflight/failed", TAKEN)
    require_same(before, [line for line in look(one) if not line.startswith(OWN)])
    one.sh("docker ps", timeout=120)

    one.sh(f"{APT} purge -y docker.io && ip link delete docker0", timeout=600)
    assert one.run("systemctl", "is-active", "containerd").text.strip() == "active"
    assert refusal(one) == ("preflight/failed", TAKEN)
    assert one.run("systemctl", "is-active", "containerd").text.strip() == "active"
