"""Kernel modules and parameters: what container networking needs, and what kubelet insists on."""

from __future__ import annotations

from collections.abc import Mapping

from flexnode.components.declare import directory, text_file
from flexnode.components.inputs import MachineInputs
from flexnode.resources import Resource
from flexnode.resources.state import Module, Sysctl

MODULES = ("overlay", "br_netfilter")
BRIDGE_FILTER = "module:br_netfilter"

SYSCTLS: Mapping[str, str] = {
    "net.bridge.bridge-nf-call-ip6tables": "1",
    "net.bridge.bridge-nf-call-iptables": "1",
    "net.ipv4.ip_forward": "1",
    # kubelet compares these when it protects the kernel's defaults, and sets them itself when it does not.
    "kernel.keys.root_maxbytes": "25000000",
    "kernel.keys.root_maxkeys": "1000000",
    "kernel.panic": "10",
    "kernel.panic_on_oops": "1",
    "vm.overcommit_memory": "1",
    "vm.panic_on_oom": "0",
}

# Most systems have both directories, and none has to.
MODULES_DIRECTORY = "/etc/modules-load.d"
SYSCTLS_DIRECTORY = "/etc/sysctl.d"
MODULES_FILE = f"{MODULES_DIRECTORY}/aks-flex-node.conf"
# After 99-sysctl.conf, which is the user's /etc/sysctl.conf: what hardened it must not stop the node at the
# next boot. A user who means it says so in the node's own configuration.
SYSCTLS_FILE = f"{SYSCTLS_DIRECTORY}/99-zz-aks-flex-node.conf"


def compose_kernel(inputs: MachineInputs) -> tuple[Resource, ...]:
    """Both now and at every boot; the user's own values win over the baseline's."""
    modules = tuple(dict.fromkeys((*MODULES, *inputs.machine.host.modules)))
    values = {**SYSCTLS, **inputs.machine.host.sysctls}
    return (
        directory(MODULES_DIRECTORY),
        text_file(MODULES_FILE, "".join(f"{name}\n" for name in modules)),
        *(Resource(key=f"module:{name}", want=Module()) for name in modules),
        directory(SYSCTLS_DIRECTORY),
        text_file(SYSCTLS_FILE, render_sysctls(values)),
        *sysctls(values),
    )


def sysctls(values: Mapping[str, str]) -> tuple[Resource, ...]:
    """The running values. A bridge has its switches only once its filter is loaded."""
    return tuple(
        Resource(
            key=f"sysctl:{key}",
            want=Sysctl(value=values[key]),
            after=(BRIDGE_FILTER,) if key.startswith("net.bridge.") else (),
        )
        for key in sorted(values)
    )


def render_sysctls(values: Mapping[str, str]) -> str:
    return "".join(f"{key} = {values[key]}\n" for key in sorted(values))
