"""Images that lie in the runtime before a pod asks for them: the sandbox's, and those that the user lists."""

from __future__ import annotations

from flexnode.components.inputs import MachineInputs
from flexnode.components.layout import CONTAINERD
from flexnode.resources import Resource
from flexnode.resources.state import Image


def compose_images(inputs: MachineInputs) -> tuple[Resource, ...]:
    """The sandbox image comes from its archive where the parts have one; the runtime pulls all others."""
    archive = _sandbox_archive(inputs)
    return tuple(
        Resource(
            key=f"image:{reference}",
            want=Image(archive=archive) if name == "sandbox" and archive else Image(pull=True),
            after=(f"unit:{CONTAINERD}",),
        )
        for name, reference in pinned_images(inputs).items()
    )


def pinned_images(inputs: MachineInputs) -> dict[str, str]:
    """By the names that containerd's configuration gives them, each image once.

    kubelet collects no pinned image: what it removed for want of space would be fetched again at once.
    """
    runtime = inputs.machine.runtime
    sandbox = full_reference(runtime.sandbox_image or inputs.parts.pause_image)
    listed = dict.fromkeys(full_reference(each) for each in runtime.preload)
    others = [reference for reference in listed if reference != sandbox]
    return {"sandbox": sandbox, **{f"preload-{number}": each for number, each in enumerate(others, 1)}}


def full_reference(reference: str) -> str:
    """A reference as the runtime lists it: `busybox` is docker.io/library/busybox:latest."""
    host, slash, rest = reference.partition("/")
    if not slash or not ("." in host or ":" in host or host == "localhost"):
        host, rest = "docker.io", reference
    if host == "docker.io" and "/" not in rest:
        rest = f"library/{rest}"
    name = rest.rpartition("/")[2]
    return f"{host}/{rest}" if ":" in name else f"{host}/{rest}:latest"


def _sandbox_archive(inputs: MachineInputs) -> str:
    """The digest of the archive that holds the sandbox image; empty where only a registry has it."""
    chosen = inputs.machine.runtime.sandbox_image or inputs.parts.pause_image
    pause = inputs.parts.artifacts.get("pause")
    holds = full_reference(chosen) == full_reference(inputs.parts.pause_image)
    return pause.sha256 if pause is not None and holds else ""
