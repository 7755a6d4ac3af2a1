"""The main job, shown: two stock machines become nodes, their pods meet, and one of them is stock again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flexlab import machine, node_agent
from flexlab.cluster import Request, bring_up, parts_of
from flexlab.control_plane import run_kubectl
from flexlab.handmade import workload
from flexlab.lab import Lab
from flexlab.model import NodeSpec, Suite
from flexlab.parts import Parts, available_kubernetes
from flexnode.clock import Clock
from flexnode.progress import Progress

LAB = "demo"

# What a user would call his machine: its files with mode, owner, size and target, and its units. Not what the
# running system writes by itself.
LISTING = r"""
find /etc /opt /srv /usr /var/lib /var/log -xdev \
  \( -path /var/log/journal -o -path /var/lib/systemd -o -path /var/lib/dhcp \) -prune \
  -o -type d -printf '%p %m %U:%G\n' -o -printf '%p %m %U:%G %s %l\n' | sort
systemctl list-unit-files --no-legend --plain
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Show:
    """`say` writes a line for people, between the steps."""

    progress: Progress
    clock: Clock
    say: Callable[[str], None]

    def run(self) -> Lab:
        """All of it; the lab stays up, with one node joined."""
        kubernetes = available_kubernetes()[0]
        request = Request(name=LAB, nodes=2, suite=Suite.BOOKWORM, kubernetes=kubernetes)
        lab = bring_up(request, self.progress, self.clock)
        parts = parts_of(lab)
        first, second = lab.spec.nodes[:2]
        before = self._list(lab, first)
        for node in (first, second):
            node_agent.join(self._terminal(lab, node), parts, self.clock)
        self._show(lab, parts, "get", "nodes", "-o", "wide")
        self._show_pods(lab, parts, first, second)
        node_agent.leave(self._terminal(lab, first))
        self._show(lab, parts, "get", "nodes")
        self._compare(first, before, self._list(lab, first))
        return lab

    def _show_pods(self, lab: Lab, parts: Parts, first: NodeSpec, second: NodeSpec) -> None:
        addresses = {}
        for node in (first, second):
            with self.progress.step(f"a pod on {node.name}"):
                addresses[node.name] = workload.run_pod(lab, parts, f"web-{node.name}", node, timeout=240)
        pod = f"web-{first.name}"
        self._show(lab, parts, "get", "pods", "-o", "wide")
        run_kubectl(lab, parts, "delete", "service", pod, "--ignore-not-found")  # of an earlier show
        self._show(lab, parts, "expose", "pod", pod, f"--port={workload.PORT}")
        address = ("get", "service", pod, "-o", "jsonpath={.spec.clusterIP}")
        service = run_kubectl(lab, parts, *address).text
        self._show(lab, parts, "logs", pod, "--tail=1")
        fetch = ("exec", f"web-{second.name}", "--", "timeout", "60", "sh", "-c")
        for host in (addresses[first.name], service):
            # A new Service takes a moment to reach every node.
            url = f"http://{host}:{workload.PORT}/"
            self._show(lab, parts, *fetch, f"until wget -q -O - {url} 2>/dev/null; do sleep 1; done")

    def _terminal(self, lab: Lab, node: NodeSpec) -> node_agent.Terminal:
        return node_agent.Terminal(lab=lab, node=node, progress=self.progress)

    def _show(self, lab: Lab, parts: Parts, *words: str) -> None:
        text = run_kubectl(lab, parts, *words, timeout=180).text.rstrip()
        self.say(f"\n$ flexlab kubectl --name {lab.name} {' '.join(words)}\n{text}")

    def _list(self, lab: Lab, node: NodeSpec) -> list[str]:
        with self.progress.step(f"look at {node.name}, to compare it later"):
            return machine.run(lab, node, LISTING, timeout=300).text.splitlines()

    def _compare(self, node: NodeSpec, before: list[str], after: list[str]) -> None:
        different = set(before) ^ set(after)
        verdict = "\n".join(sorted(different)) or "nothing differs"
        self.say(f"\n{node.name}, {len(before)} files and units compared with how it was before: {verdict}")
