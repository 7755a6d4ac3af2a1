"""Two nodes joined by hand: pods run, meet each other, and can be looked into. Every join must give that."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from flexlab import handmade
from flexlab.handmade import workload
from flexlab.testing import LabUnderTest, Machine

pytestmark = pytest.mark.vm


def test_pods_of_two_nodes_meet_by_address_and_by_service_and_can_be_looked_into(
    session_lab: LabUnderTest, make_machine: Callable[..., Machine]
) -> None:
    lab, parts = session_lab.lab, session_lab.parts
    machines = [make_machine("edge1"), make_machine("edge2")]
    try:
        for one in machines:
            handmade.install(one.lab, one.node, parts)
            handmade.start_node_services(one.lab, one.node, now=True)
        addresses = {}
        for one in machines:
            handmade.wait_until_ready(lab, one.node, parts, timeout=240)
            addresses[one.node.name] = handmade.run_pod(
                lab, parts, f"web-{one.node.name}", one.node, timeout=240
            )
        assert addresses["edge1"].rpartition(".")[0] != addresses["edge2"].rpartition(".")[0]

        # Not `wget -T`: some builds of busybox crash on it.
        fetch = ("exec", "web-edge1", "--", "timeout", "20", "wget", "-q", "-O", "-")
        by_address = session_lab.kubectl(*fetch, f"http://{addresses['edge2']}:{workload.PORT}/")
        assert by_address.strip() == "web-edge2"

        session_lab.kubectl("expose", "pod", "web-edge2", f"--port={workload.PORT}")
        service = session_lab.kubectl("get", "service", "web-edge2", "-o", "jsonpath={.spec.clusterIP}")
        session_lab.kubectl(
            "-n", "kube-system", "rollout", "status", "ds/kube-proxy", "--timeout=120s", timeout=130
        )
        # kube-proxy learns of a new Service, and of what stands behind it, some moments after kubectl does.
        url = f"http://{service}:{workload.PORT}/"
        loop = f"until wget -q -O - {url}; do sleep 1; done"
        by_service = session_lab.kubectl(
            "exec", "web-edge1", "--", "timeout", "60", "sh", "-c", f"({loop}) 2>/dev/null"
        )
        assert by_service.strip() == "web-edge2"

        # The API server verifies kubelet's serving certificate against the cluster's CA for both of these.
        assert "serving" in session_lab.kubectl("logs", "web-edge2")
        requests = json.loads(session_lab.kubectl("get", "certificatesigningrequests", "-o", "json"))["items"]
        served = [
            request["spec"]["username"]
            for request in requests
            if request["spec"]["signerName"] == "kubernetes.io/kubelet-serving"
            and request.get("status", {}).get("certificate")
        ]
        assert {"system:node:edge1", "system:node:edge2"} <= set(served)
    finally:
        session_lab.kubectl("delete", "service/web-edge2", "--ignore-not-found")
        session_lab.kubectl("delete", "pods", "--all", "--force", "--grace-period=0")
        session_lab.kubectl("delete", "nodes", "--all")
