"""States in words: short, on one line, without any secret."""

from __future__ import annotations

import hashlib

from flexnode.resources.state import (
    Absent,
    Blob,
    Content,
    Directory,
    File,
    Group,
    Image,
    Kubeconfig,
    Link,
    Member,
    Module,
    Owned,
    Packages,
    Secret,
    State,
    Swap,
    Sysctl,
    Text,
    Unit,
    User,
)

_DIGITS = 12
"""How much of a digest people need to tell two apart."""


def render_state(state: State) -> str:
    """What a state is, as a plan shows it: `file 0644 root:root sha256 6ae8a7555520…`, `enabled, active`."""
    match state:
        case Absent():
            return "absent"
        case File(content=content):
            return f"file {render_access(state)} {_render_content(content)}"
        case Link(target=target):
            return f"link to {target}"
        case Directory():
            return f"directory {render_access(state)}"
        case Sysctl(value=value):
            return value
        case Module():
            return "loaded"
        case Packages():
            return _render_packages(state)
        case Unit():
            return _render_unit(state)
        case Swap(devices=devices):
            return f"in use: {', '.join(devices)}" if devices else "none in use"
        case User(home=home, shell=shell):
            return f"user with home {home} and shell {shell}"
        case Group():
            return "group"
        case Image(archive=archive, pull=pull):
            origin = f" from archive {_render_digest(archive)}" if archive else ""
            return "image from its registry" if pull else f"image{origin}"
        case Kubeconfig(server=server):
            return f"leads to {server}"
        case Owned(left=left):
            parts = ", ".join(part for _, part in owned_parts(state)) or "nothing"
            return f"without {parts}" if left else parts


def render_access(state: File | Directory) -> str:
    """Who may do what with it: 0644 root:root."""
    owner, group = ("root" if number == 0 else str(number) for number in (state.uid, state.gid))
    return f"{state.mode:04o} {owner}:{group}"


def owned_parts(state: Owned) -> list[tuple[str, str]]:
    """The parts of owned state in the order in which they leave: what is done to each, and what it is."""
    parts = [
        ("stop", "all pods" if state.pods else ""),
        ("delete", f"node {state.node}" if state.node else ""),
        ("stop", ", ".join(state.slices)),
        ("remove", ", ".join(state.trees)),
        ("remove", _listed("interfaces", state.links)),
        ("remove", _listed("packet filter chains", [f"{prefix}*" for prefix in state.chains])),
        ("remove", _listed("nftables tables", state.tables)),
    ]
    return [(verb, part) for verb, part in parts if part]


def _listed(what: str, names: tuple[str, ...] | list[str]) -> str:
    return f"{what} {', '.join(names)}" if names else ""


def _render_content(content: Content) -> str:
    match content:
        case Text(text=text):
            return _render_digest(hashlib.sha256(text.encode()).hexdigest())
        case Blob(sha256=sha256):
            return _render_digest(sha256)
        case Member(artifact=artifact, path=path, sha256=sha256):
            if sha256 or not path:
                return _render_digest(sha256 or artifact)
            return f"{path} of archive {_render_digest(artifact)}"
        case Secret():
            return "with a credential in it"


def _render_digest(sha256: str) -> str:
    return f"sha256 {sha256[:_DIGITS]}…"


def _render_packages(state: Packages) -> str:
    there = f"installed: {', '.join(state.installed)}" if state.installed else "none installed"
    return f"{there}; not installed: {', '.join(state.absent)}" if state.absent else there


def _render_unit(state: Unit) -> str:
    words = [
        "masked" if state.masked else "",
        {True: "enabled", False: "disabled", None: ""}[state.enabled],
        {True: "active", False: "inactive", None: ""}[state.active],
    ]
    return ", ".join(filter(None, words)) or "as it is"
