"""What components are written in: the few kinds of resources that most of them consist of.

Who reads a file says what a change of it costs: the units named in `read_by` restart, and how much that
disturbs the node follows from which units they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from flexnode.components.layout import CONTAINERD, KUBELET, UNITS
from flexnode.model.artifact import Artifact, Format
from flexnode.resources import Disruption, Resource
from flexnode.resources.state import Directory, File, Kubeconfig, Link, Member, Secret, Text, Unit

_COST = {CONTAINERD: Disruption.RESTART_CONTAINERD, KUBELET: Disruption.RESTART_KUBELET}


def directory(path: str, *, mode: int = 0o755) -> Resource:
    return Resource(key=f"directory:{path}", want=Directory(mode=mode))


def text_file(
    path: str,
    text: str,
    *,
    mode: int = 0o644,
    read_by: tuple[str, ...] = (),
    reloads: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
    pods_rely_on: str = "",
) -> Resource:
    return Resource(
        key=f"file:{path}",
        want=File(content=Text(text=text), mode=mode),
        after=after,
        disruption=_disruption(read_by, reloads),
        restarts=read_by,
        reloads=reloads,
        pods_rely_on=pods_rely_on,
    )


def secret_file(
    path: str, template: str, names: Iterable[str], *, read_by: tuple[str, ...] = (), until: str = ""
) -> Resource:
    """A file with credentials in it, for root alone."""
    return Resource(
        key=f"file:{path}",
        want=File(content=Secret(template=template, names=tuple(names)), mode=0o600),
        disruption=_disruption(read_by),
        restarts=read_by,
        until=until,
    )


def link(path: str, target: str, *, read_by: tuple[str, ...] = ()) -> Resource:
    return Resource(
        key=f"link:{path}",
        want=Link(target=target),
        disruption=_disruption(read_by),
        restarts=read_by,
    )


def follow_server(path: str, server: str, *, read_by: tuple[str, ...]) -> Resource:
    """The server in a kubeconfig that somebody else writes."""
    return Resource(
        key=f"kubeconfig:{path}",
        want=Kubeconfig(server=server),
        disruption=_disruption(read_by),
        restarts=read_by,
    )


def programs(
    artifact: Artifact, into: str, *, run_by: dict[str, str] | None = None, pods_rely_on: str = ""
) -> tuple[Resource, ...]:
    """The programs in `artifact`, below the directory `into`; `run_by` names the unit that runs one."""
    if artifact.format is Format.TAR_GZ:
        members = {
            PurePosixPath(each.path).name: Member(
                artifact=artifact.sha256, path=each.path, sha256=each.sha256
            )
            for each in artifact.members
        }
    else:
        members = {artifact.component: Member(artifact=artifact.sha256, sha256=artifact.sha256)}
    units = run_by or {}
    return tuple(
        Resource(
            key=f"file:{into}/{name}",
            want=File(content=member, mode=0o755),
            disruption=_disruption((units[name],) if name in units else ()),
            restarts=(units[name],) if name in units else (),
            pods_rely_on=pods_rely_on,
        )
        for name, member in sorted(members.items())
    )


def unit_file(name: str, text: str) -> Resource:
    """The file of a unit of ours."""
    return text_file(f"{UNITS}/{name}", text, read_by=(name,))


def running_unit(name: str, *, after: Iterable[str] = ()) -> Resource:
    """A unit that runs, now and after each boot. What it reads comes before it without being named here."""
    return Resource(key=f"unit:{name}", want=Unit(enabled=True, active=True), after=tuple(after))


def keys(resources: Iterable[Resource], kind: str = "") -> tuple[str, ...]:
    """The keys of `resources`, of one kind or of all."""
    return tuple(each.key for each in resources if not kind or each.kind == kind)


def quote_environment(name: str, value: str) -> str:
    """An Environment= line of a unit: systemd expands percent signs in it, and takes quotes away."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'Environment="{name}={escaped}"\n'


def _disruption(restarts: tuple[str, ...], reloads: tuple[str, ...] = ()) -> Disruption:
    dearest = max((_COST.get(unit, Disruption.NONE) for unit in restarts), default=Disruption.NONE)
    return max(dearest, Disruption.RELOAD) if reloads else dearest
