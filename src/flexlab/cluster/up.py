"""Bring a lab up, from nothing or from wherever an earlier attempt got to."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from flexlab import control_plane, machine, network, registry
from flexlab.base import Base, ensure_base
from flexlab.cluster.lock import locked
from flexlab.cluster.services import start_services
from flexlab.errors import LabError
from flexlab.lab import Lab, find_lab, save_lab
from flexlab.model import (
    LabSpec,
    NodeSpec,
    Suite,
    parse_name,
)
from flexlab.parts import Parts, ensure_parts
from flexlab.paths import labs_dir
from flexlab.process import Place
from flexnode.clock import Clock
from flexnode.errors import UsageError
from flexnode.progress import Progress, Silent

SSH_TIMEOUT = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a lab shall be. One that exists keeps its Kubernetes version; nodes are only added."""

    name: str
    nodes: int
    suite: Suite
    kubernetes: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Supplies:
    """What labs of one version run from: made once, kept for all of them."""

    parts: Parts
    images: Path  # the registry's storage
    bases: Mapping[Suite, Base]


def make_supplies(kubernetes: str, suites: Iterable[Suite], progress: Progress) -> Supplies:
    """Build what is missing of it: minutes the first time, nothing later. Needs no lab."""
    with progress.step(f"parts of Kubernetes {kubernetes}"):
        parts = ensure_parts(kubernetes, progress=progress)
        images = registry.ensure_registry_storage(parts, progress)
    bases = {}
    for suite in sorted(suites):
        with progress.step(f"base image {suite}"):
            bases[suite] = ensure_base(suite, progress=progress)
    return Supplies(parts=parts, images=images, bases=bases)


def bring_up(request: Request, progress: Progress, clock: Clock) -> Lab:
    """The lab, running: control plane ready, every machine answering over SSH. Safe to repeat."""
    parse_name(request.name, "lab name")
    if os.geteuid() != 0:
        raise LabError(
            "a lab needs root: it makes a network namespace and taps",
            code="lab/not-root",
            hint="run it with sudo",
        )
    with locked(request.name):
        lab = _find_or_create(request)
        supplies = make_supplies(lab.spec.kubernetes, {node.suite for node in lab.spec.nodes}, progress)
        with progress.step("network and its services"):
            place = network.up(lab, clock)
            start_services(lab, supplies.parts, supplies.images, place, clock)
        # Machines boot while the control plane starts: each waits for something else.
        with progress.step(f"control plane and {len(lab.spec.nodes)} machine(s)"):
            with ThreadPoolExecutor(max_workers=1) as pool:
                cluster = pool.submit(_start_control_plane, lab, supplies.parts, clock)
                bases = supplies.bases
                booted = [node for node in lab.spec.nodes if boot(lab, node, bases[node.suite], place)]
                progress.note(f"API server ready after {cluster.result():.1f} s")
            for node in booted:
                seconds = machine.wait_for_ssh(lab, node, clock, timeout=SSH_TIMEOUT)
                progress.note(f"{node.name} answers over SSH after {seconds:.1f} s")
    return lab


def boot(lab: Lab, node: NodeSpec, base: Base, place: Place) -> bool:
    """Start a machine, with a fresh disk if it has none; False when it runs already."""
    if machine.is_running(lab, node):
        return False
    network.add_tap(place, node)
    machine.create_disk(lab, node, base)
    machine.start(lab, node, place)
    return True


def parts_of(lab: Lab) -> Parts:
    """The parts this lab runs; they were built when it came up."""
    return ensure_parts(lab.spec.kubernetes, progress=Silent())


def compose_node(lab: Lab, name: str | None, suite: Suite) -> NodeSpec:
    """The next machine of a lab."""
    used = {node.index for node in lab.spec.nodes}
    index = next(index for index in range(200) if index not in used)
    name = parse_name(name or f"node{index + 1}", "node name")
    if any(node.name == name for node in lab.spec.nodes):
        raise UsageError(
            f"lab {lab.name} has a node {name} already",
            code="lab/node-exists",
            hint=f"choose another name, or run `flexlab node rm --name {lab.name} {name}` first",
        )
    return NodeSpec(name=name, index=index, suite=suite, uuid=str(uuid.uuid4()))


def _find_or_create(request: Request) -> Lab:
    lab = find_lab(request.name) or Lab(
        folder=labs_dir() / request.name,
        spec=LabSpec(name=request.name, kubernetes=request.kubernetes, suite=request.suite),
    )
    if lab.spec.kubernetes != request.kubernetes:
        raise LabError(
            f"lab {lab.name} runs Kubernetes {lab.spec.kubernetes}, not {request.kubernetes}",
            code="lab/other-version",
            hint=f"choose another --name, or run `flexlab down --name {lab.name}` first",
        )
    while len(lab.spec.nodes) < request.nodes:
        lab = lab.with_nodes((*lab.spec.nodes, compose_node(lab, None, request.suite)))
    save_lab(lab)
    return lab


def _start_control_plane(lab: Lab, parts: Parts, clock: Clock) -> float:
    control_plane.ensure_credentials(lab)
    seconds = control_plane.start(lab, parts, clock)
    control_plane.apply_objects(lab, parts)
    return seconds
