"""kubelet's baked half: its program, kubectl, the directories that both use, and a unit that waits for its
configuration.
"""

from __future__ import annotations

from flexnode.components.declare import directory, programs, unit_file
from flexnode.components.inputs import MachineInputs
from flexnode.components.layout import KUBELET, KUBERNETES, PROGRAMS, STATIC_PODS
from flexnode.resources import Resource

# Drop-ins fill in the variables: one what is special about this node, another how it joins.
UNIT = """\
[Unit]
Description=kubelet, the agent of Kubernetes on this node
Documentation=https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/
Wants=containerd.service network-online.target
After=containerd.service network-online.target
# A machine that has not joined a cluster has none.
ConditionPathExists=/etc/kubernetes/kubelet/config.json
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/local/bin/kubelet --config=/etc/kubernetes/kubelet/config.json \\
  --kubeconfig=/etc/kubernetes/kubelet.conf $KUBELET_JOIN_FLAGS $KUBELET_NODE_FLAGS
# Pods outlive kubelet, and so does what it mounted for them.
KillMode=process
Delegate=yes
Restart=always
RestartSec=2
CPUAccounting=yes
MemoryAccounting=yes
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
"""


def compose_kubelet(inputs: MachineInputs) -> tuple[Resource, ...]:
    return (
        *programs(
            inputs.parts.require("kubelet"),
            PROGRAMS,
            run_by={"kubelet": KUBELET},
            # kubelet takes over the pods of another patch of it, but not those of another minor version.
            pods_rely_on=f"kubelet {inputs.parts.kubernetes.rpartition('.')[0]}",
        ),
        *programs(inputs.parts.require("kubectl"), PROGRAMS),
        directory(KUBERNETES),
        directory(STATIC_PODS),
        unit_file(KUBELET, UNIT),
    )
