"""containerd: its programs, its configuration and its unit."""

from __future__ import annotations

from flexnode.components.authorities import trust_key
from flexnode.components.cni import compose_cni
from flexnode.components.containerd_config import render_config
from flexnode.components.declare import directory, keys, programs, running_unit, text_file, unit_file
from flexnode.components.inputs import MachineInputs
from flexnode.components.layout import (
    CONTAINERD,
    CONTAINERD_CONFIG,
    CONTAINERD_STATE,
    PROGRAMS,
    REGISTRIES,
    UNITS,
)
from flexnode.components.runc import compose_runc
from flexnode.components.support import support_tools_key
from flexnode.resources import Resource
from flexnode.resources.state import Owned

STATE = "owned:containerd-state"
DROP_INS = f"{CONTAINERD_CONFIG}/conf.d"

UNIT = """\
[Unit]
Description=containerd, the container runtime of this node
Documentation=https://containerd.io
After=network.target local-fs.target dbus.service
StartLimitIntervalSec=0

[Service]
Type=notify
ExecStart=/usr/local/bin/containerd
# Pods outlive containerd: a stop or restart ends this one process and nothing else.
KillMode=process
Delegate=yes
Restart=always
RestartSec=2
# Containers inherit the limits.
LimitNOFILE=1048576
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
"""


def compose_containerd(inputs: MachineInputs) -> tuple[Resource, ...]:
    artifact = inputs.parts.require("containerd")
    # A shim is started for each pod, so only the daemon itself has to be started anew.
    installed = programs(artifact, PROGRAMS, run_by={"containerd": CONTAINERD})
    state = directory(CONTAINERD_STATE, mode=0o700)
    return (
        *installed,
        directory(CONTAINERD_CONFIG),
        directory(DROP_INS),
        directory(REGISTRIES),
        text_file(
            f"{CONTAINERD_CONFIG}/config.toml",
            render_config(inputs),
            read_by=(CONTAINERD,),
            # A pod keeps the network that it was started in, and does not reach those of another one.
            pods_rely_on=f"cni {inputs.machine.runtime.cni}",
        ),
        directory(f"{UNITS}/{CONTAINERD}.d"),
        unit_file(CONTAINERD, UNIT),
        state,
        Resource(
            key=STATE,
            # The socket of containerd's plugin interface lies beside its state, not in it.
            want=Owned(trees=(CONTAINERD_STATE, "/run/containerd", "/run/nri")),
            after=(state.key,),
        ),
        running_unit(CONTAINERD, after=_prerequisites(inputs, keys(installed, "file"))),
    )


def _prerequisites(inputs: MachineInputs, installed: tuple[str, ...]) -> tuple[str, ...]:
    """What must be there for as long as containerd runs, so that pods can be started, and stopped again."""
    network = compose_cni(inputs)
    return (
        "module:overlay",
        STATE,
        *installed,
        *keys(compose_runc(inputs), "file"),
        *keys(network, "file"),
        *keys(network, "owned"),
        *support_tools_key(inputs),
        *trust_key(inputs),
    )
