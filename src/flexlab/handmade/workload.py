"""A small web server as a pod: what shows that a node runs pods, not only that it is Ready."""

from __future__ import annotations

import json
from typing import Any

from flexlab.control_plane import run_kubectl
from flexlab.lab import Lab
from flexlab.model import NodeSpec
from flexlab.parts import Parts

PORT = 8080


def pod_manifest(name: str, node: NodeSpec, image: str) -> dict[str, Any]:
    """A pod on `node` that serves its own name over HTTP and logs each request."""
    script = (
        f"mkdir /www && echo {name} > /www/index.html && echo serving && exec httpd -f -vv -p {PORT} -h /www"
    )
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "nodeName": node.name,
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": "web",
                    "image": image,
                    "command": ["sh", "-c", script],
                    "readinessProbe": {"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1},
                    # The runtime's own filter must be there: a runc without seccomp starts no such pod.
                    "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                }
            ],
        },
    }


def run_pod(lab: Lab, parts: Parts, name: str, node: NodeSpec, *, timeout: float = 120) -> str:
    """Start the pod, wait until it serves; its address."""
    manifest = json.dumps(pod_manifest(name, node, parts.image("busybox").reference)).encode()
    run_kubectl(lab, parts, "apply", "-f", "-", stdin=manifest)
    run_kubectl(
        lab,
        parts,
        "wait",
        "--for=condition=Ready",
        f"pod/{name}",
        f"--timeout={timeout:g}s",
        timeout=timeout + 10,
    )
    return run_kubectl(lab, parts, "get", "pod", name, "-o", "jsonpath={.status.podIP}").text
