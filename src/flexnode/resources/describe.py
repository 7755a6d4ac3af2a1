"""Changes in words: one line each, as an instruction, without any secret."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flexnode.resources.render import owned_parts, render_access
from flexnode.resources.resource import Change
from flexnode.resources.state import (
    Absent,
    Directory,
    File,
    Image,
    Kubeconfig,
    Link,
    Module,
    Owned,
    Packages,
    Swap,
    Sysctl,
    Unit,
)


def describe_change(change: Change) -> str:
    """What a change does: write /etc/containerd/config.toml; enable and start kubelet.service."""
    return _BY_KIND[change.kind](change)


def _describe_path(change: Change) -> str:
    path, before = change.name, change.before
    match change.after:
        case File(mtime_ns=None):
            return f"write {path}"
        case File():  # only what was observed, never what is wanted, has a time
            return f"put back {path}"
        case Link(target=target):
            return f"link {path} to {target}"
        case Directory() as after if isinstance(before, Directory):
            return f"set directory {path} to {render_access(after)}"
        case Directory():
            return f"make directory {path}"
        case _ if isinstance(before, Directory):
            return f"remove directory {path} if it is empty"
        case _:
            return f"remove {path}"


def _describe_sysctl(change: Change) -> str:
    match change.before, change.after:
        case Sysctl(value=old), Sysctl(value=new):
            return f"set {change.name} from {old} to {new}"
        case _, Sysctl(value=new):
            return f"set {change.name} to {new}"
        case _:
            return f"leave {change.name} as it is until the next boot"


def _describe_module(change: Change) -> str:
    if isinstance(change.after, Module):
        return f"load kernel module {change.name}"
    return f"unload kernel module {change.name} unless it is in use"


def _describe_packages(change: Change) -> str:
    before = change.before if isinstance(change.before, Packages) else Packages()
    after = change.after if isinstance(change.after, Packages) else Packages()
    if after.absent:
        there = [name for name in after.absent if name in before.installed]
        return f"purge {', '.join(there or after.absent)}"
    missing = [name for name in after.installed if name not in before.installed]
    needed = [name for name in before.absent if name not in missing]
    besides = f", with {', '.join(needed)}" if needed else ""
    return f"install {', '.join(missing)}{besides}"


def _describe_unit(change: Change) -> str:
    before = change.before if isinstance(change.before, Unit) else Unit(enabled=False, active=False)
    after = change.after if isinstance(change.after, Unit) else Unit(enabled=False, active=False)
    done = {
        "unmask": before.masked and not after.masked,
        "enable": after.enabled is True and before.enabled is False,
        "disable": after.enabled is False and before.enabled is True,
        "start": after.active is True and before.active is False,
        "stop": after.active is False and before.active is True,
        "mask": after.masked and not before.masked,
    }
    return f"{_enumerate([verb for verb, needed in done.items() if needed]) or 'leave'} {change.name}"


def _describe_swap(change: Change) -> str:
    before = change.before.devices if isinstance(change.before, Swap) else ()
    after = change.after.devices if isinstance(change.after, Swap) else ()
    if after:
        return f"turn on swap again on {', '.join(after)}"
    return f"turn off swap on {', '.join(before)}, also after a reboot"


def _describe_account(change: Change) -> str:
    return f"{'remove' if isinstance(change.after, Absent) else 'create'} {change.kind} {change.name}"


def _describe_image(change: Change) -> str:
    match change.after:
        case Image(pull=pull):
            return f"{'pull' if pull else 'import'} image {change.name}"
        case _:
            return f"remove image {change.name}"


def _describe_kubeconfig(change: Change) -> str:
    match change.after:
        case Kubeconfig(server=server):
            return f"set the server in {change.name} to {server}"
        case _:
            return f"leave {change.name} as it is"


def _describe_owned(change: Change) -> str:
    if not isinstance(change.after, Owned) or not change.after.left:
        return f"leave {change.name} to those who write it"
    # Only what was found is there to go.
    found = change.before if isinstance(change.before, Owned) else change.after
    return "; ".join(f"{verb} {part}" for verb, part in owned_parts(found))


def _enumerate(words: Sequence[str]) -> str:
    *most, last = words or ("",)
    return f"{', '.join(most)} and {last}" if most else last


_BY_KIND: Mapping[str, Callable[[Change], str]] = {
    "file": _describe_path,
    "link": _describe_path,
    "directory": _describe_path,
    "sysctl": _describe_sysctl,
    "module": _describe_module,
    "packages": _describe_packages,
    "unit": _describe_unit,
    "swap": _describe_swap,
    "user": _describe_account,
    "group": _describe_account,
    "image": _describe_image,
    "kubeconfig": _describe_kubeconfig,
    "owned": _describe_owned,
}
