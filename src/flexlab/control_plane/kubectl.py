"""kubectl against a lab's cluster, as its administrator."""

from __future__ import annotations

from flexlab import process
from flexlab.lab import Lab
from flexlab.parts import Parts
from flexnode.host import Completed


def run_kubectl(
    lab: Lab,
    parts: Parts,
    *arguments: str,
    stdin: bytes = b"",
    timeout: float = 60,
    expect: tuple[int, ...] = (0,),
) -> Completed:
    """Run kubectl to its end."""
    return process.run(
        lab.require_place(), _argv(lab, parts, arguments), stdin=stdin, timeout=timeout, expect=expect
    )


def attach_kubectl(lab: Lab, parts: Parts, *arguments: str) -> int:
    """Run kubectl on the caller's terminal and return its exit code."""
    return process.attach(lab.require_place(), _argv(lab, parts, arguments))


def _argv(lab: Lab, parts: Parts, arguments: tuple[str, ...]) -> tuple[str, ...]:
    # The discovery cache goes into the lab's folder: nothing of a lab lies elsewhere.
    cache = lab.control_plane / "kubectl-cache"
    return (
        str(parts.binary("kubectl")),
        f"--kubeconfig={lab.admin_kubeconfig}",
        f"--cache-dir={cache}",
        *arguments,
    )
