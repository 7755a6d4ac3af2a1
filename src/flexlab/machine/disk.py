"""A machine's disk: a thin layer over the base image's, with its snapshots inside."""

from __future__ import annotations

from pathlib import Path

import msgspec

from flexlab.base import Base, ensure_disk
from flexlab.errors import LabError
from flexlab.lab import Lab
from flexlab.machine.layout import Layout
from flexlab.model import NodeSpec
from flexnode.host import Command, run
from flexnode.progress import Silent


class Snapshot(msgspec.Struct, frozen=True, rename="kebab"):
    """A state that the disk can go back to, with the machine's memory where it was taken of a running one."""

    name: str
    vm_state_size: int

    @property
    def has_memory(self) -> bool:
        return self.vm_state_size > 0


class _Description(msgspec.Struct, frozen=True, rename="kebab"):
    full_backing_filename: str
    snapshots: tuple[Snapshot, ...] = ()


def create_disk(lab: Lab, node: NodeSpec, base: Base) -> None:
    """Give the machine a fresh disk of its size; one that it has is kept."""
    layout = Layout(lab=lab, node=node)
    if layout.disk.exists():
        return
    layout.folder.mkdir(parents=True, exist_ok=True)
    backing = ensure_disk(base, node.disk_gib, progress=Silent())
    draft = layout.disk.with_suffix(".draft")
    words = ("create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(backing), str(draft))
    run(Command(argv=("qemu-img", *words)))
    draft.rename(layout.disk)


def find_base(layout: Layout) -> Base:
    """The base that the machine's disk was laid over, which may be older than today's."""
    base = Base.of(Path(_describe(layout).full_backing_filename))
    if not base.kernel.exists():
        raise LabError(
            f"the base image of {layout.node.name} is gone: {base.folder}",
            code="machine/no-base",
            hint=f"run `flexlab node rm {layout.node.name}` and add it again",
        )
    return base


def list_snapshots(layout: Layout) -> tuple[Snapshot, ...]:
    return _describe(layout).snapshots


def require_snapshot(layout: Layout, name: str) -> Snapshot:
    snapshots = list_snapshots(layout)
    for snapshot in snapshots:
        if snapshot.name == name:
            return snapshot
    known = ", ".join(snapshot.name for snapshot in snapshots) or "none"
    raise LabError(
        f"{layout.node.name} has no snapshot {name} (it has: {known})",
        code="machine/no-such-snapshot",
        hint=f"take it with `flexlab node snapshot {layout.node.name} {name}`",
    )


def write_snapshot(layout: Layout, name: str) -> None:
    """Remember the disk of a machine that is off."""
    if any(snapshot.name == name for snapshot in list_snapshots(layout)):
        run(Command(argv=("qemu-img", "snapshot", "-q", "-d", name, str(layout.disk)), timeout=300))
    run(Command(argv=("qemu-img", "snapshot", "-q", "-c", name, str(layout.disk)), timeout=300))


def apply_snapshot(layout: Layout, name: str) -> None:
    """Bring the disk of a machine that is off back."""
    run(Command(argv=("qemu-img", "snapshot", "-q", "-a", name, str(layout.disk)), timeout=300))


def _describe(layout: Layout) -> _Description:
    if not layout.disk.exists():
        raise LabError(
            f"{layout.node.name} has no disk",
            code="machine/no-disk",
            hint=f"run `flexlab node start {layout.node.name}`",
        )
    # --force-share: a running QEMU holds the lock
    argv = ("qemu-img", "info", "--force-share", "--output=json", str(layout.disk))
    return msgspec.json.decode(run(Command(argv=argv)).stdout, type=_Description)
