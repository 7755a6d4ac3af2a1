"""A node made by hand: static files and units, no agent. The floor that the product is measured against."""

from flexlab.handmade.files import File, compose_files
from flexlab.handmade.join import install, kubeadm_join, start_node_services, wait_until_ready
from flexlab.handmade.workload import pod_manifest, run_pod

__all__ = [
    "File",
    "compose_files",
    "install",
    "kubeadm_join",
    "pod_manifest",
    "run_pod",
    "start_node_services",
    "wait_until_ready",
]
