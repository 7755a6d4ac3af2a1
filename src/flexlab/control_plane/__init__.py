"""A real Kubernetes control plane of plain processes, for one lab."""

from flexlab.control_plane.credentials import ensure_credentials, read_bootstrap_token
from flexlab.control_plane.kubectl import attach_kubectl, run_kubectl
from flexlab.control_plane.lifecycle import COMPONENTS, is_ready, start, stop, wait_until_ready
from flexlab.control_plane.objects import apply_objects

__all__ = [
    "COMPONENTS",
    "apply_objects",
    "attach_kubectl",
    "ensure_credentials",
    "is_ready",
    "read_bootstrap_token",
    "run_kubectl",
    "start",
    "stop",
    "wait_until_ready",
]
