"""What a machine looks like to its owner, to be compared before and after a lab."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path

from flexnode.host import Command, run

WATCHED_FOLDERS = (
    "/run",
    "/run/netns",
    "/var/run/kubernetes",
    "/etc/kubernetes",
    "/var/lib/kubelet",
    "/etc/cni",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Footprint:
    """Sets of lines, one for each kind of thing that a lab could leave behind."""

    orphans: frozenset[str]
    network_namespaces: frozenset[str]
    mounts: frozenset[str]
    loop_devices: frozenset[str]
    listening: frozenset[str]
    interfaces: frozenset[str]
    firewall: frozenset[str]
    routes: frozenset[str]
    files: frozenset[str]

    def left_behind(self, before: Footprint) -> dict[str, list[str]]:
        """What is there now and was not there before, or the other way round."""
        changes = {}
        for field in fields(self):
            now, then = getattr(self, field.name), getattr(before, field.name)
            if now != then:
                changes[field.name] = sorted(f"+ {x}" for x in now - then) + sorted(
                    f"- {x}" for x in then - now
                )
        return changes


def take_footprint(*folders: Path) -> Footprint:
    """Look at the machine; `folders` are listed besides those where node software lays its files."""
    return Footprint(
        orphans=frozenset(_list_orphans()),
        network_namespaces=frozenset(_list_network_namespaces()),
        mounts=frozenset(_lines(Path("/proc/self/mounts"))),
        loop_devices=frozenset(str(path.parent) for path in Path("/sys/block").glob("loop*/loop")),
        listening=frozenset(_list_listening()),
        interfaces=frozenset(os.listdir("/sys/class/net")),
        firewall=frozenset(run(Command(argv=("nft", "list", "ruleset"))).text.splitlines()),
        routes=frozenset(run(Command(argv=("ip", "route"))).text.splitlines()),
        files=frozenset(_list_files([*map(Path, WATCHED_FOLDERS), *folders])),
    )


def _list_orphans() -> list[str]:
    """Processes whose parent is init: what a lab starts ends up there, whoever started the lab."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if parent == "1" and state not in "ZX":  # an ended one is init's to collect
            found.append(f"{entry.name} {command}")
    return found


def _list_network_namespaces() -> set[str]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.add(os.readlink(entry / "ns/net"))
            except OSError:
                continue
    return found


def _list_listening() -> set[str]:
    listing = run(Command(argv=("ss", "--listening", "--tcp", "--udp", "--numeric", "--no-header"))).text
    return {" ".join(line.split()[:5:4]) for line in listing.splitlines()}


def _list_files(folders: list[Path]) -> list[str]:
    return [str(path) for folder in folders if folder.exists() for path in folder.iterdir()]


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()
