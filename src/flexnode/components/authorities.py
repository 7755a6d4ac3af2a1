"""Certificate authorities that the whole machine shall trust.

The system's bundle is made by a program from files in a directory, so two units stand around those files.
The later one makes the bundle once they are there, and again when one of them changed. The earlier one makes
it when the node leaves: it stops after the files are gone.
"""

from __future__ import annotations

import hashlib

from flexnode.components.declare import keys, running_unit, text_file, unit_file
from flexnode.components.inputs import MachineInputs
from flexnode.components.layout import CONTAINERD
from flexnode.components.support import compose_package
from flexnode.resources import Resource

DIRECTORY = "/usr/local/share/ca-certificates"  # the package brings it, with the mode that suits it
TRUST = "aks-flex-node-trust.service"
DISTRUST = "aks-flex-node-distrust.service"

TRUST_UNIT = f"""\
[Unit]
Description=Let this machine trust the certificate authorities of its node configuration
Before={CONTAINERD}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/update-ca-certificates --fresh

[Install]
WantedBy=multi-user.target
"""

# No default dependencies: it stays as it is when the machine shuts down, and stops only when the node leaves.
DISTRUST_UNIT = """\
[Unit]
Description=Forget the certificate authorities of the node configuration when it is removed
DefaultDependencies=no

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
ExecStop=/usr/sbin/update-ca-certificates --fresh

[Install]
WantedBy=multi-user.target
"""


def compose_authorities(inputs: MachineInputs) -> tuple[Resource, ...]:
    texts = tuple(dict.fromkeys(inputs.machine.host.ca_certificates))
    if not texts:
        return ()
    packages, package = compose_package(inputs, "ca-certificates")
    distrust = running_unit(DISTRUST, after=(package,))
    # containerd reads the bundle once, when it starts.
    files = tuple(
        text_file(_path(text), text, read_by=(TRUST, CONTAINERD), after=(distrust.key,)) for text in texts
    )
    return (
        *packages,
        unit_file(DISTRUST, DISTRUST_UNIT),
        distrust,
        *files,
        unit_file(TRUST, TRUST_UNIT),
        running_unit(TRUST, after=(package, *keys(files))),
    )


def trust_key(inputs: MachineInputs) -> tuple[str, ...]:
    """What comes before whatever talks to servers of these authorities."""
    return (f"unit:{TRUST}",) if inputs.machine.host.ca_certificates else ()


def _path(text: str) -> str:
    """Named after its content: a certificate that stays keeps its file, whatever is listed before it."""
    return f"{DIRECTORY}/aks-flex-node-{hashlib.sha256(text.encode()).hexdigest()[:12]}.crt"
