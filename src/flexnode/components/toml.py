"""Values in TOML: Python reads that language and does not write it."""

from __future__ import annotations


def render_toml(value: object) -> str:
    """A plain value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(render_toml(each) for each in value)}]"
    return "'" + str(value) + "'" if _is_plain(str(value)) else _quoted(str(value))


def _is_plain(text: str) -> bool:
    """Whether it can stand between single quotes, where nothing is special."""
    return "'" not in text and text.isprintable()


def _quoted(text: str) -> str:
    escaped = "".join(
        f"\\{char}" if char in '"\\' else char if char.isprintable() else f"\\U{ord(char):08x}"
        for char in text
    )
    return f'"{escaped}"'
