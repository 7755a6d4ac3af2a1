"""What a node is made of is accepted by those who read it, as far as their parsers are on this machine.

containerd and kubelet themselves read theirs in the tests on machines.
"""

from __future__ import annotations

import ipaddress
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from flexnode.components.cni import TEMPLATE
from flexnode.components.node import compose_node
from unit.components.samples import CASES, texts

NODES = pytest.mark.parametrize("case", CASES)
UNITS = Path("/usr/lib/systemd/system")
PROGRAMS = ("usr/sbin/nft", "usr/sbin/update-ca-certificates", "bin/true")


def files(case: str) -> dict[str, str]:
    return texts(compose_node(CASES[case]))


@NODES
def test_containerd_gets_the_settings_that_a_node_relies_on(case: str) -> None:
    config = tomllib.loads(files(case)["/etc/containerd/config.toml"])
    plugins = config["plugins"]
    runtime = plugins["io.containerd.cri.v1.runtime"]
    images = plugins["io.containerd.cri.v1.images"]
    assert config["version"] == 3
    assert config["imports"] == ["/etc/containerd/conf.d/*.toml"]
    assert runtime["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"] is True
    assert runtime["containerd"]["runtimes"]["runc"]["options"]["BinaryName"] == "/usr/local/bin/runc"
    assert runtime["cni"]["conf_template"] == "/etc/containerd/cni.template"
    assert images["registry"] == {"config_path": "/etc/containerd/certs.d"}
    assert images["pinned_images"]["sandbox"] == "registry.k8s.io/pause:9.9"


@NODES
def test_everything_in_toml_or_json_is_that(case: str) -> None:
    parsed: dict[str, Any] = {}
    for path, text in files(case).items():
        if path.endswith(".toml"):
            parsed[path] = tomllib.loads(text)
        elif path.endswith(".json") or path.endswith("bootstrap-kubelet.conf"):
            parsed[path] = json.loads(text)
    assert parsed.keys() >= {"/etc/containerd/config.toml", "/etc/kubernetes/kubelet/config.json"}


@pytest.mark.parametrize("ranges", [["10.244.3.0/24"], ["10.244.3.0/24", "fd00:2:0:3::/64"]])
def test_the_pod_network_is_what_the_cluster_allocated(ranges: list[str]) -> None:
    routes = ["0.0.0.0/0", "::/0"][: len(ranges)]
    config = json.loads(fill(TEMPLATE, {"PodCIDRRanges": ranges, "Routes": routes}))
    bridge, portmap = config["plugins"]
    assert bridge["ipam"]["ranges"] == [[{"subnet": each}] for each in ranges]
    assert bridge["ipam"]["routes"] == [{"dst": each} for each in routes]
    assert bridge["bridge"] == "cni0"
    assert portmap["capabilities"] == {"portMappings": True}


def fill(template: str, values: dict[str, list[str]]) -> str:
    """What Go's text/template makes of the one construct that is used: a list with commas between."""
    loop = re.compile(
        r"\{\{range \$i, \$(?P<item>\w+) := \.(?P<list>\w+)\}\}\{\{if \$i\}\}(?P<between>.*?)\{\{end\}\}"
        r"(?P<body>.*?)\{\{end\}\}"
    )
    filled = loop.sub(
        lambda found: found["between"].join(
            found["body"].replace("{{$" + found["item"] + "}}", value) for value in values[found["list"]]
        ),
        template,
    )
    assert "{{" not in filled
    return filled


@NODES
def test_systemd_understands_every_unit(case: str, tmp_path: Path) -> None:
    """A misspelt setting is ignored with a warning, and a node would run without it."""
    if not shutil.which("systemd-analyze") or not UNITS.is_dir():
        pytest.skip("systemd is not installed here")
    shutil.copytree(UNITS, tmp_path / UNITS.relative_to("/"), symlinks=True)
    generation = compose_node(CASES[case])
    units = []
    for path, text in texts(generation).items():
        if path.startswith("/etc/systemd/system/"):
            place = tmp_path / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
            units += [place.name] if place.suffix == ".service" else []
    for program in (*PROGRAMS, "usr/local/bin/containerd", "usr/local/bin/kubelet"):
        place = tmp_path / program
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch(mode=0o755)
    argv = ["systemd-analyze", "verify", "--man=no", f"--root={tmp_path}", *units]
    verified = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert len(units) >= 3
    assert (verified.returncode, verified.stderr) == (0, "")


@NODES
def test_nft_takes_the_rules_and_takes_them_again(case: str, tmp_path: Path) -> None:
    """In a network namespace of its own: this machine's rules are neither read nor changed."""
    script = tmp_path / "masquerade.nft"
    script.write_text(files(case)["/etc/kubernetes/masquerade.nft"])
    load, show = f"nft -f {script}", "nft list ruleset"
    nft = run_apart(f"{load} && {load} && {show} && nft delete table inet aks-flex-node && {show}")
    assert nft.returncode == 0, nft.stderr
    assert nft.stdout.count("table inet aks-flex-node") == 1
    assert nft.stdout.count("masquerade") == (2 if case == "full" else 1)


def test_nft_leaves_other_tables_alone(tmp_path: Path) -> None:
    """Flushing a user's firewall opens the machine to everybody."""
    script = tmp_path / "masquerade.nft"
    script.write_text(files("default")["/etc/kubernetes/masquerade.nft"])
    ours = f"nft -f {script} && nft delete table inet aks-flex-node"
    nft = run_apart(f"nft add table inet mine && {ours} && nft list ruleset")
    assert nft.stdout.split() == ["table", "inet", "mine", "{", "}"]


def run_apart(script: str) -> subprocess.CompletedProcess[str]:
    argv = ["unshare", "--map-root-user", "--net", "sh", "-c"]
    probe = "nft add table inet probe && nft list ruleset"
    if (
        not shutil.which("nft")
        or not shutil.which("unshare")
        or subprocess.run([*argv, probe], capture_output=True, timeout=60).returncode
    ):
        pytest.skip("nft cannot be tried apart from this machine here")
    return subprocess.run([*argv, script], capture_output=True, text=True, timeout=60)


def test_the_metadata_service_never_sees_a_pod_as_the_machine() -> None:
    for case in CASES:
        rules = files(case)["/etc/kubernetes/masquerade.nft"]
        inside = re.search(r"ip daddr != \{ (.*?) \}", rules)
        assert inside
        networks = [ipaddress.ip_network(each) for each in inside[1].split(", ")]
        assert any(ipaddress.ip_address("169.254.169.254") in network for network in networks)
