"""A lab on disk: its folder, what lies where in it, and how it is found again."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from flexlab import process
from flexlab.errors import LabError
from flexlab.model import LabSpec, NodeSpec, parse_name
from flexlab.paths import labs_dir
from flexlab.process import Place

NETWORK_PROCESS = "network"
"""The daemon that owns the lab's network namespace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lab:
    """Where everything of one lab lies. Holds no state of its own: what runs is asked of the kernel."""

    folder: Path
    spec: LabSpec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def control_plane(self) -> Path:
        return self.folder / "control-plane"

    @property
    def gateway(self) -> Path:
        return self.folder / "gateway"

    @property
    def faults(self) -> Path:
        return self.folder / "faults.json"

    @property
    def admin_kubeconfig(self) -> Path:
        return self.folder / "admin.kubeconfig"

    @property
    def ssh(self) -> Path:
        return self.folder / "ssh"

    def log(self, process_name: str) -> Path:
        return self.folder / "logs" / f"{process_name}.log"

    def node_folder(self, node: NodeSpec | str) -> Path:
        return self.folder / "nodes" / (node if isinstance(node, str) else node.name)

    def find_place(self) -> Place | None:
        """The lab's network, or None when it is not up."""
        holders = process.find(self.folder, NETWORK_PROCESS)
        return Place(lab=self.folder, netns_of=holders[0].pid) if holders else None

    def require_place(self) -> Place:
        place = self.find_place()
        if place is None:
            raise LabError(
                f"lab {self.name} has no network: it is not up",
                code="lab/not-up",
                hint=f"run `flexlab up --name {self.name}`",
            )
        return place

    def with_nodes(self, nodes: tuple[NodeSpec, ...]) -> Lab:
        return replace(self, spec=msgspec.structs.replace(self.spec, nodes=nodes))


def find_lab(name: str) -> Lab | None:
    """The lab of that name, or None."""
    folder = labs_dir() / parse_name(name, "lab name")
    try:
        data = (folder / "lab.json").read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return Lab(folder=folder, spec=msgspec.json.decode(data, type=LabSpec))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LabError(
            f"{folder / 'lab.json'} cannot be read: {error}",
            code="lab/bad-state",
            hint=f"run `flexlab down --name {name}` and start again",
        ) from error


def require_lab(name: str) -> Lab:
    lab = find_lab(name)
    if lab is None:
        known = ", ".join(list_labs()) or "none"
        raise LabError(
            f"there is no lab {name} (there is: {known})",
            code="lab/no-such-lab",
            hint=f"run `flexlab up --name {name}`",
        )
    return lab


def list_labs() -> list[str]:
    """The names of all labs on this machine."""
    try:
        return sorted(folder.name for folder in labs_dir().iterdir() if (folder / "lab.json").exists())
    except FileNotFoundError:
        return []


def save_lab(lab: Lab) -> None:
    """Write `lab.json`; a reader sees the old or the new one."""
    lab.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = lab.folder / "lab.json.new"
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(lab.spec), indent=2) + b"\n")
    os.replace(draft, lab.folder / "lab.json")
