"""Checks of how much of everything the machine has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flexnode.artifacts import render_size
from flexnode.flows.preflight.check import Finding, error, ok, warning
from flexnode.flows.preflight.reading import nearest_directory
from flexnode.flows.preflight.situation import Situation
from flexnode.host.command import Command
from flexnode.model.artifact import Artifact, Format

MIB = 1 << 20

# What a machine is sold as; the kernel keeps some of it for itself.
LEAST_MEMORY = 900 * MIB
GOOD_MEMORY = 1800 * MIB
GOOD_CPUS = 2

UNPACKED = 3
"""How much larger an archive is unpacked, roughly."""

UNKNOWN_SIZE = 75 * MIB
IMAGES = 512 * MIB
"""What the first pods of every node (network, proxy) bring along in images and logs, at the least."""

EVICTION_PERCENT = 15
"""kubelet calls a file system of images full when less than this is free, and starts no pods."""

LEAST_INODES = 50_000
EVICTION_INODES_PERCENT = 5

LIMITS = {"fs.nr_open": 1_048_576, "kernel.pid_max": 32_768, "fs.inotify.max_user_instances": 128}


@dataclass(frozen=True, kw_only=True, slots=True)
class Volume:
    """One file system, as df tells it. `inodes` is 0 where it counts none."""

    mount: str
    size: int
    free: int
    inodes: int
    free_inodes: int


def check_memory(situation: Situation) -> Iterator[Finding]:
    memory = situation.facts.memory
    amount = render_size(memory)
    if memory < LEAST_MEMORY:
        yield error(
            "preflight/memory",
            f"{amount} of memory: kubelet and containerd alone need most of that",
            hint="give the machine 1 GiB at the very least; 2 GiB leave room for pods",
        )
    elif memory < GOOD_MEMORY:
        yield warning(
            "preflight/memory-small",
            f"{amount} of memory leaves little for pods",
            hint="2 GiB or more are comfortable; keep kubelet.kubeReserved in mind if you go on",
        )
    else:
        yield ok(amount)


def check_cpus(situation: Situation) -> Iterator[Finding]:
    cpus = situation.facts.cpus
    if cpus < GOOD_CPUS:
        yield warning(
            "preflight/cpus",
            f"{cpus} processor: pods wait whenever the system has work",
            hint=f"{GOOD_CPUS} or more are comfortable",
        )
    else:
        yield ok(f"{cpus} processors")


def check_swap(situation: Situation) -> Iterator[Finding]:
    devices = situation.host.kernel.swaps()
    if not devices:
        yield ok("no swap in use")
    elif situation.spec.machine.host.manage_swap:
        yield ok(
            f"{', '.join(devices)} will be switched off, and on again when the machine leaves the cluster"
        )
    else:
        yield warning(
            "preflight/swap",
            f"swap stays in use on {', '.join(devices)}, as configured: kubelet is told not to mind, and what"
            " pods are promised of the memory does not hold",
            hint="let the product switch it off: host.manageSwap: true",
        )


def check_disk(situation: Situation) -> Iterator[Finding]:
    for volume, need in _volumes(situation):
        free, where = render_size(volume.free), f"on {volume.mount}"
        if volume.free < need:
            yield _shortage(situation, volume, need)
        elif volume.free - need < volume.size * EVICTION_PERCENT // 100:
            yield warning(
                "preflight/disk-nearly-full",
                f"{free} of {render_size(volume.size)} free {where}: after the installation less than"
                f" {EVICTION_PERCENT}% would be left, and kubelet would soon evict pods",
                hint=f"free space {where} or grow it; kubelet.evictionHard says when pods are evicted",
            )
        else:
            yield ok(f"{free} free {where}")


def _shortage(situation: Situation, volume: Volume, need: int) -> Finding:
    message = (
        f"{render_size(volume.free)} free on {volume.mount}, about {render_size(need)} are needed there:"
        f" {render_size(need - volume.free)} are missing"
    )
    hint = f"free space on {volume.mount}, grow it, or mount a larger disk at /var/lib"
    if situation.ours.installed:
        # Most of it is there already; how much is not is known, and checked, when it is staged.
        return warning("preflight/disk-tight", message, hint=hint)
    return error("preflight/disk-space", message, hint=hint, transient=True)


def check_inodes(situation: Situation) -> Iterator[Finding]:
    for volume, _ in _volumes(situation):
        if not volume.inodes:
            yield ok(f"{volume.mount} makes inodes as it needs them")
        elif volume.free_inodes < LEAST_INODES:
            yield error(
                "preflight/inodes",
                f"only {volume.free_inodes} inodes are free on {volume.mount}: images are many small files",
                hint="remove small files (find out where with du --inodes), or make the file system anew"
                " with more inodes",
                transient=True,
            )
        elif volume.free_inodes * 100 < volume.inodes * EVICTION_INODES_PERCENT:
            yield warning(
                "preflight/inodes-few",
                f"fewer than {EVICTION_INODES_PERCENT}% of the inodes of {volume.mount} are free:"
                " kubelet evicts pods there",
                hint="remove small files; du --inodes tells where they lie",
            )
        else:
            yield ok(f"{volume.free_inodes} inodes free on {volume.mount}")


def check_ulimits(situation: Situation) -> Iterator[Finding]:
    found = {key: situation.host.kernel.find_sysctl(key) for key in LIMITS}
    low = {
        key: int(value)
        for key, value in found.items()
        if value is not None and value.isdigit() and int(value) < LIMITS[key] and key not in situation.sysctls
    }
    for key, value in low.items():
        yield warning(
            "preflight/limit-low",
            f"{key} is {value}: containers may run out of it",
            hint=f"set {key}={LIMITS[key]} with host.sysctls, or in /etc/sysctl.d",
        )
    if not low:
        yield ok("open files, processes, file watches")


def _volumes(situation: Situation) -> list[tuple[Volume, int]]:
    """Each file system that the product writes to, with the bytes that it is going to put there."""
    parts = situation.parts.artifacts.values() if situation.parts else ()
    missing = situation.missing()
    needs = {
        # The file as it is published, and what is taken out of it.
        "/var/lib/aks-flex-node": sum(_size(each) + _unpacked(each) for each in missing),
        "/usr/local/bin": sum(_unpacked(each) or _size(each) for each in parts),
        "/var/lib/containerd": IMAGES,
        "/var/lib/kubelet": 0,
    }
    places = {path: nearest_directory(situation.host, path) for path in needs}
    volumes = find_volumes(situation, tuple(places.values()))
    by_mount: dict[str, tuple[Volume, int]] = {}
    for path, volume in zip(needs, volumes, strict=True):
        _, need = by_mount.get(volume.mount, (volume, 0))
        by_mount[volume.mount] = (volume, need + needs[path])
    return list(by_mount.values())


def _size(artifact: Artifact) -> int:
    return artifact.size or UNKNOWN_SIZE


def _unpacked(artifact: Artifact) -> int:
    return _size(artifact) * UNPACKED if artifact.format is Format.TAR_GZ else 0


def find_volumes(situation: Situation, paths: tuple[str, ...]) -> list[Volume]:
    """The file system of each path, in their order."""
    columns = "--output=target,size,avail,itotal,iavail"
    done = situation.host.run(Command(argv=("df", "--block-size=1", columns, *paths)))
    volumes = []
    for line in done.text.splitlines()[1:]:
        mount, *figures = line.rsplit(maxsplit=4)
        size, free, inodes, free_inodes = (int(each) if each.isdigit() else 0 for each in figures)
        volumes.append(Volume(mount=mount, size=size, free=free, inodes=inodes, free_inodes=free_inodes))
    return volumes
