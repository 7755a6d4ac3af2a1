"""The pod network: CNI's plugins, and a bridge with the pod CIDR that the cluster allocates to the node."""

from __future__ import annotations

from flexnode.components.declare import directory, programs, text_file
from flexnode.components.inputs import MachineInputs
from flexnode.components.layout import BRIDGE, CNI_CONFIG, CNI_PROGRAMS, CNI_STATE, CNI_TEMPLATE
from flexnode.components.support import support_tools_key
from flexnode.model.machine import CniMode
from flexnode.resources import Resource
from flexnode.resources.state import Owned

STATE = "owned:cni-state"
RENDERED = f"{CNI_CONFIG}/10-containerd-net.conflist"
"""What containerd makes of the template; the name is containerd's."""

# A Go template. What leaves the cluster is masqueraded by a table of our own, not by rules for each pod. An
# address that the bridge still has from an earlier pod CIDR is replaced: forceAddress.
TEMPLATE = """\
{
  "cniVersion": "1.0.0",
  "name": "aks-flex-node",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "forceAddress": true,
      "ipMasq": false,
      "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "ranges": [{{range $i, $range := .PodCIDRRanges}}{{if $i}}, {{end}}[{"subnet": "{{$range}}"}]{{end}}],
        "routes": [{{range $i, $route := .Routes}}{{if $i}}, {{end}}{"dst": "{{$route}}"}{{end}}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
"""


def compose_cni(inputs: MachineInputs) -> tuple[Resource, ...]:
    """The plugins in any case: a network that the cluster brings builds on them too."""
    bridge = inputs.machine.runtime.cni is CniMode.BRIDGE
    state = (directory("/etc/cni"), directory(CNI_CONFIG), directory(CNI_STATE, mode=0o700))
    template = (text_file(CNI_TEMPLATE, TEMPLATE),) if bridge else ()
    return (
        directory("/opt/cni"),
        directory(CNI_PROGRAMS),
        *programs(inputs.parts.require("cni-plugins"), CNI_PROGRAMS),
        *state,
        *template,
        Resource(
            key=STATE,
            want=Owned(
                # Other files there are the user's, or of the network that the cluster brought.
                trees=(CNI_STATE, RENDERED) if bridge else (CNI_STATE,),
                links=(BRIDGE,) if bridge else (),
                chains=("CNI-",),
                tables=("cni_hostport",),
            ),
            # The programs that take chains and tables away are among the tools.
            after=(*(each.key for each in state), *support_tools_key(inputs)),
        ),
    )
