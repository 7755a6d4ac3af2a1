"""The system's own updates go on; they do not restart what runs pods, and do not reboot without a drain."""

from __future__ import annotations

from flexnode.components.declare import directory, text_file
from flexnode.components.inputs import MachineInputs
from flexnode.components.layout import CONTAINERD, KUBELET
from flexnode.resources import Resource

NEEDRESTART = "/etc/needrestart"
# Packages that would bring a second runtime or kubelet, or start one anew in the middle of an update.
LEFT_ALONE = ("containerd", "containerd.io", "cri-tools", "kubectl", "kubelet", "kubernetes-cni", "runc")


def compose_updates(inputs: MachineInputs) -> tuple[Resource, ...]:
    """Both files lie there whether or not the programs that read them do: either may be installed later."""
    if not inputs.machine.host.manage_updates:
        return ()
    return (
        directory(NEEDRESTART),
        directory(f"{NEEDRESTART}/conf.d"),
        text_file(f"{NEEDRESTART}/conf.d/90-aks-flex-node.conf", render_needrestart()),
        # After 50unattended-upgrades: of a single value the last file's counts.
        text_file("/etc/apt/apt.conf.d/90-aks-flex-node", render_apt()),
    )


def render_needrestart() -> str:
    lines = [f"$nrconf{{override_rc}}->{{qr(^{_exactly(unit)}$)}} = 0;\n" for unit in (CONTAINERD, KUBELET)]
    return "# These carry the pods of a node, and are restarted by the node's agent.\n" + "".join(lines)


def render_apt() -> str:
    # A regular expression each, matched at the start of a package's name.
    packages = "".join(f'  "^{_exactly(name)}$";\n' for name in LEFT_ALONE)
    return (
        f"Unattended-Upgrade::Package-Blacklist {{\n{packages}}};\n"
        "// A node is drained before it is rebooted: aks-flex-node node reboot.\n"
        'Unattended-Upgrade::Automatic-Reboot "false";\n'
    )


def _exactly(name: str) -> str:
    return name.replace(".", r"\.")
