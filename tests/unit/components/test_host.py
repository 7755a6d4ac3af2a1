"""What a node asks of the system under it, and how far it leaves the system to its user."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flexnode.components.firewall import render_rules
from flexnode.components.joining import NodeInputs
from flexnode.components.kernel import SYSCTLS
from flexnode.components.node import compose_node
from flexnode.components.updates import render_apt, render_needrestart
from flexnode.model.credentials import Credentials
from flexnode.model.machine import CniMode, HostSpec, MachineSpec, Proxy, RuntimeSpec
from flexnode.model.spec import ClusterSpec
from flexnode.resources import Phase
from flexnode.resources.state import File, Packages, Secret
from flexnode.secret import Secret as Value
from unit.components.samples import (
    COMPANY_CA,
    DEFAULT,
    FACTS,
    MIRROR_CA,
    SPEC,
    texts,
    with_machine,
    with_spec,
)

UNITS = "/etc/systemd/system"
FIREWALL = "unit:aks-flex-node-firewall.service"


def with_host(**settings: Any) -> NodeInputs:
    return with_machine(MachineSpec(host=HostSpec(**settings)))


def keys(inputs: NodeInputs) -> list[str]:
    return [each.key for each in compose_node(inputs).resources]


def of_kind(inputs: NodeInputs, kind: str) -> dict[str, Any]:
    return {each.name: each.want for each in compose_node(inputs).resources if each.kind == kind}


# Kernel


def test_the_kernel_is_as_kubernetes_and_kubelet_want_it() -> None:
    found = {key: state.value for key, state in of_kind(DEFAULT, "sysctl").items()}
    assert found == SYSCTLS
    assert of_kind(DEFAULT, "module").keys() == {"overlay", "br_netfilter"}


def test_it_is_so_after_a_reboot_too() -> None:
    files = texts(compose_node(DEFAULT))
    lines = files["/etc/sysctl.d/99-zz-aks-flex-node.conf"].splitlines()
    assert lines == [f"{key} = {value}" for key, value in sorted(SYSCTLS.items())]
    assert files["/etc/modules-load.d/aks-flex-node.conf"] == "overlay\nbr_netfilter\n"


def test_the_users_own_values_and_modules_win() -> None:
    inputs = with_host(sysctls={"kernel.panic": "60", "vm.swappiness": "1"}, modules=("zfs", "overlay"))
    found = of_kind(inputs, "sysctl")
    assert (found["kernel.panic"].value, found["vm.swappiness"].value) == ("60", "1")
    assert list(of_kind(inputs, "module")) == ["overlay", "br_netfilter", "zfs"]


def test_the_file_of_ours_is_read_after_the_users_sysctl_conf() -> None:
    """A hardened /etc/sysctl.conf would turn forwarding off again at the next boot."""
    (ours,) = (path for path in texts(compose_node(DEFAULT)) if path.startswith("/etc/sysctl.d/"))
    assert Path(ours).name > "99-sysctl.conf"


@pytest.mark.parametrize(
    ("cluster", "forwards"),
    [
        ({}, False),
        ({"pod_cidr": "10.244.0.0/16", "service_cidr": "10.96.0.0/12"}, False),
        ({"pod_cidr": "10.244.0.0/16,fd00::/48"}, True),
        ({"service_cidr": "fd00::/112"}, True),
        ({"dns_service_ip": "fd00::a"}, True),
    ],
)
def test_ipv6_is_forwarded_where_the_cluster_uses_it_only(cluster: Any, forwards: bool) -> None:
    """Forwarding makes a machine deaf to router advertisements: its own way out may depend on them."""
    inputs = with_spec(replace(SPEC, cluster=replace(SPEC.cluster, **cluster)))
    assert ("net.ipv6.conf.all.forwarding" in of_kind(inputs, "sysctl")) is forwards


def test_what_the_user_says_of_ipv6_forwarding_is_managed_once() -> None:
    spec = replace(with_host(sysctls={"net.ipv6.conf.all.forwarding": "2"}).spec)
    inputs = with_spec(replace(spec, cluster=replace(spec.cluster, pod_cidr="fd00::/48")))
    assert of_kind(inputs, "sysctl")["net.ipv6.conf.all.forwarding"].value == "2"


# What can be left to the user


@pytest.mark.parametrize(
    ("setting", "gone"),
    [
        ("manage_swap", ["unit:swap.target", "swap:all"]),
        ("manage_time", ["unit:systemd-timesyncd.service", "packages:systemd-timesyncd"]),
        ("manage_journald", ["file:/etc/systemd/journald.conf.d/90-aks-flex-node.conf"]),
        ("manage_updates", ["file:/etc/apt/apt.conf.d/90-aks-flex-node"]),
        ("manage_firewall", [FIREWALL, "file:/etc/kubernetes/masquerade.nft"]),
        ("support_tools", ["packages:support-tools"]),
    ],
)
def test_what_is_switched_off_is_not_touched(setting: str, gone: list[str]) -> None:
    assert set(gone) <= set(keys(DEFAULT))
    assert not set(gone) & set(keys(with_host(**{setting: False})))


def test_a_machine_that_keeps_time_already_keeps_it_its_own_way() -> None:
    """Two daemons that set one clock fight."""
    chrony = replace(DEFAULT, facts=replace(FACTS, time_daemon="chrony.service"))
    assert not [key for key in keys(chrony) if "timesyncd" in key]


def test_a_component_brings_the_one_package_that_it_needs() -> None:
    """Leaving out the tools must not leave a node without the program of its firewall."""
    assert of_kind(DEFAULT, "packages")["support-tools"] == Packages(
        installed=("conntrack", "curl", "iptables", "nftables", "socat")
    )
    assert "packages:nftables" not in keys(DEFAULT)
    lean = with_host(support_tools=False, ca_certificates=(COMPANY_CA,))
    assert of_kind(lean, "packages").keys() == {"systemd-timesyncd", "nftables", "ca-certificates"}


# Firewall


def rule(**cluster: Any) -> list[str]:
    return [line.strip() for line in render_rules(ClusterSpec(**cluster)).splitlines() if "masq" in line]


def test_traffic_within_the_cluster_keeps_its_addresses() -> None:
    """Network policies, and logs, see the pod that asked."""
    assert rule(pod_cidr="10.244.0.0/16", service_cidr="10.96.0.0/12") == [
        'iifname "cni0" oifname != "cni0" ip daddr != { 10.96.0.0/12, 10.244.0.0/16, 169.254.0.0/16 }'
        " masquerade"
    ]


def test_networks_within_another_are_said_once() -> None:
    """nft refuses a set whose networks overlap, and the node would have no masquerade at all."""
    (found,) = rule(pod_cidr="10.0.0.0/8", service_cidr="10.96.0.0/12")
    assert "{ 10.0.0.0/8, 169.254.0.0/16 }" in found


def test_pods_with_ipv6_reach_the_outside_too() -> None:
    four, six = rule(pod_cidr="10.244.0.0/16,fd00:2::/48")
    assert "ip daddr != { 10.244.0.0/16, 169.254.0.0/16 }" in four
    assert "ip6 daddr != { fd00:2::/48, fe80::/10 }" in six


def test_the_pod_network_of_a_cluster_is_not_masqueraded_by_the_node() -> None:
    assert FIREWALL not in keys(with_machine(MachineSpec(runtime=RuntimeSpec(cni=CniMode.NONE))))


def test_leaving_removes_the_table_and_nothing_else() -> None:
    text = texts(compose_node(DEFAULT))[f"{UNITS}/aks-flex-node-firewall.service"]
    assert "ExecStop=-/usr/sbin/nft delete table inet aks-flex-node\n" in text
    assert not [each for path, each in texts(compose_node(DEFAULT)).items() if "flush" in each and path]


# Updates


def test_updates_leave_what_runs_pods_alone(tmp_path: Path) -> None:
    assert "qr(^containerd\\.service$)" in render_needrestart()
    assert "qr(^kubelet\\.service$)" in render_needrestart()
    if not shutil.which("apt-config"):
        pytest.skip("apt is not installed here")
    file = tmp_path / "apt.conf"
    file.write_text(render_apt())
    environment = {"APT_CONFIG": str(file)}
    dump = subprocess.run(["apt-config", "dump"], env=environment, capture_output=True, text=True)
    assert dump.returncode == 0, dump.stderr
    assert 'Unattended-Upgrade::Package-Blacklist:: "^containerd\\.io$";' in dump.stdout
    assert 'Unattended-Upgrade::Automatic-Reboot "false";' in dump.stdout


# Authorities


def test_authorities_are_trusted_before_containerd_asks_a_registry() -> None:
    order = keys(with_host(ca_certificates=(COMPANY_CA, MIRROR_CA, COMPANY_CA)))
    certificates = [key for key in order if key.startswith("file:/usr/local/share/ca-certificates/")]
    assert len(certificates) == 2
    trust = order.index("unit:aks-flex-node-trust.service")
    assert max(map(order.index, certificates)) < trust < order.index("unit:containerd.service")


def test_they_are_forgotten_after_their_files_are_gone() -> None:
    """Made while they are still there, the machine's bundle would hold them for ever."""
    left = list(reversed(keys(with_host(ca_certificates=(COMPANY_CA,)))))
    (certificate,) = (key for key in left if key.startswith("file:/usr/local/share/ca-certificates/"))
    assert left.index(certificate) < left.index("unit:aks-flex-node-distrust.service")
    text = texts(compose_node(with_host(ca_certificates=(COMPANY_CA,))))
    assert "ExecStop=/usr/sbin/update-ca-certificates" in text[f"{UNITS}/aks-flex-node-distrust.service"]


def test_a_certificate_keeps_its_file_whatever_else_is_listed() -> None:
    one, two = (
        {path for path in texts(compose_node(with_host(ca_certificates=each))) if "ca-certificates" in path}
        for each in ((COMPANY_CA,), (MIRROR_CA, COMPANY_CA))
    )
    assert one < two


# Proxies


PROXY = Proxy(
    http="http://proxy.example:3128", https="http://proxy.example:3128/%20", no_proxy=("a.example",)
)


def proxies(inputs: NodeInputs) -> dict[str, str]:
    return {path: text for path, text in texts(compose_node(inputs)).items() if "proxy" in path}


def test_containerd_and_kubelet_go_through_the_proxy_and_never_to_themselves() -> None:
    inputs = with_machine(MachineSpec(proxy=PROXY))
    found = proxies(inputs)
    containerd = found[f"{UNITS}/containerd.service.d/10-proxy.conf"]
    kubelet = found[f"{UNITS}/kubelet.service.d/30-proxy.conf"]
    # systemd expands percent signs.
    assert 'Environment="HTTPS_PROXY=http://proxy.example:3128/%%20"' in containerd.splitlines()
    assert 'Environment="NO_PROXY=localhost,127.0.0.1,::1,a.example"' in containerd.splitlines()
    assert ",a.example,.svc,.cluster.local" in kubelet


def test_kubelet_reaches_pods_and_services_without_the_proxy() -> None:
    spec = with_machine(MachineSpec(proxy=PROXY)).spec
    cluster = replace(spec.cluster, pod_cidr="10.244.0.0/16", service_cidr="10.96.0.0/12")
    found = proxies(with_spec(replace(spec, cluster=cluster)))
    assert "10.244.0.0/16,10.96.0.0/12" in found[f"{UNITS}/kubelet.service.d/30-proxy.conf"]


def test_a_machine_without_a_proxy_has_no_file_about_one() -> None:
    assert proxies(DEFAULT) == {}


def test_a_proxys_password_is_for_root_alone_and_never_in_an_image() -> None:
    """Anybody may read a unit's drop-ins, with `systemctl cat`."""
    credentials = Credentials(http_proxy=Value("http://user:word@proxy.example"))
    generation = compose_node(with_spec(replace(SPEC, credentials=credentials)))
    file = generation.find("file:/etc/kubernetes/proxy.env")
    assert file is not None
    assert isinstance(file.want, File)
    assert file.want.mode == 0o600
    assert file.want.content == Secret(
        template="HTTP_PROXY={{http-proxy}}\nNO_PROXY=localhost,127.0.0.1,::1,.svc,.cluster.local\n",
        names=("http-proxy",),
    )
    assert file.phase is Phase.JOINED
    assert set(file.restarts) == {"containerd.service", "kubelet.service"}
    assert not [each for each in generation.baked().resources if "proxy" in each.key]
