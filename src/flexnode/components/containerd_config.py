"""What containerd's configuration file says, version 3 of its format."""

from __future__ import annotations

from flexnode.components.inputs import MachineInputs
from flexnode.components.layout import (
    CNI_CONFIG,
    CNI_PROGRAMS,
    CNI_TEMPLATE,
    CONTAINERD_CONFIG,
    CONTAINERD_STATE,
    PROGRAMS,
    REGISTRIES,
)
from flexnode.components.preload import pinned_images
from flexnode.components.toml import render_toml
from flexnode.model.machine import CniMode

_IMAGES = "plugins.'io.containerd.cri.v1.images'"
_RUNTIME = "plugins.'io.containerd.cri.v1.runtime'"


def render_config(inputs: MachineInputs) -> str:
    """Only what differs from containerd's defaults, or what other parts of the node rely on."""
    network: dict[str, object] = {"bin_dirs": [CNI_PROGRAMS], "conf_dir": CNI_CONFIG}
    if inputs.machine.runtime.cni is CniMode.BRIDGE:
        # Filled in with the pod CIDR that the cluster allocates, once kubelet has been told it.
        network["conf_template"] = CNI_TEMPLATE
    runc = f"{_RUNTIME}.containerd.runtimes.runc"
    sections: dict[str, dict[str, object]] = {
        # Beside its other state: containerd makes this directory at every start, and /opt is the user's.
        "plugins.'io.containerd.internal.v1.opt'": {"path": f"{CONTAINERD_STATE}/opt"},
        f"{_IMAGES}.pinned_images": dict(pinned_images(inputs)),
        f"{_IMAGES}.registry": {"config_path": REGISTRIES},
        f"{_RUNTIME}.cni": network,
        f"{_RUNTIME}.containerd": {"default_runtime_name": "runc"},
        runc: {"runtime_type": "io.containerd.runc.v2"},
        f"{runc}.options": {"BinaryName": f"{PROGRAMS}/runc", "SystemdCgroup": True},
    }
    top: dict[str, object] = {
        "version": 3,
        "root": CONTAINERD_STATE,
        "state": "/run/containerd",
        "imports": [f"{CONTAINERD_CONFIG}/conf.d/*.toml"],
    }
    tables = [f"\n[{name}]\n{_render_table(values)}" for name, values in sections.items()]
    return _render_table(top) + "".join(tables)


def _render_table(values: dict[str, object]) -> str:
    return "".join(f"{name} = {render_toml(value)}\n" for name, value in values.items())
