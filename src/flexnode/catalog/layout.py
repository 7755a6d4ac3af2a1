"""How the catalog's JSON files are laid out: the same value always gives the same bytes, made for diffs."""

from __future__ import annotations

import json
import re

WIDTH = 110


def render_json(value: object) -> bytes:
    """`value` as canonical JSON text: an object or list of plain values stays on one line while it fits."""
    return (_lay_out(value, indent=0, lead=0) + "\n").encode()


def _lay_out(value: object, *, indent: int, lead: int) -> str:
    """`lead` is how much of the line is taken already: the indentation and the key."""
    flat = json.dumps(value, ensure_ascii=False)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    nested = any(isinstance(item, (dict, list)) and item for item in items)
    if not nested and lead + len(flat) < WIDTH:
        return flat
    inner = indent + 2
    if isinstance(value, dict):
        lines = []
        for key, item in value.items():
            name = f"{json.dumps(key, ensure_ascii=False)}: "
            lines.append(name + _lay_out(item, indent=inner, lead=inner + len(name)))
        opening, closing = "{}"
    elif isinstance(value, list):
        lines = [_lay_out(item, indent=inner, lead=inner) for item in value]
        opening, closing = "[]"
    else:
        return flat
    pad = " " * inner
    return opening + "\n" + ",\n".join(pad + line for line in lines) + "\n" + " " * indent + closing


def version_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts versions as people count: 1.10 after 1.9, and a pre-release before its release."""
    core, _, tail = version.removeprefix("v").partition("-")
    parts = [_part_key(part) for part in core.split(".")]
    # "~" sorts after every pre-release tag, and stands for "none".
    return (*parts, *((_part_key(part) for part in tail.split(".")) if tail else [(2, 0, "~")]))


def _part_key(part: str) -> tuple[int, int, str]:
    return (1, int(part), "") if re.fullmatch(r"\d+", part) else (0, 0, part)
