"""How values of the historical documents become today's: one function for each way they differ.

Each gets the value, its path, the report, and the whole document; it answers the value in today's form, which
is checked as any other, or WRONG after it reported why not.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from typing import Any

from flexnode.config import texts
from flexnode.config.problems import Path, Report, show_value
from flexnode.config.types import WRONG, Flag

_TEMPLATE = re.compile(r"\{\{-?\s*\.KubernetesVersion\s*-?\}\}")


def turn_version(value: Any, _at: Path, _report: Report, _data: Mapping[str, Any]) -> Any:
    """Versions were written with or without a leading v."""
    return value.removeprefix("v") if isinstance(value, str) else value


def turn_server(value: Any, at: Path, report: Report, _data: Mapping[str, Any]) -> Any:
    """The API server was a name, a name and port, or a URL."""
    if not isinstance(value, str):
        report.add(at, "is not the name of an API server", value=show_value(value))
        return WRONG
    if "://" in value:
        return value
    _, colon, port = value.rpartition(":")
    return f"https://{value}" if colon and port.isdigit() else f"https://{value}:443"


def turn_certificates(value: Any, at: Path, report: Report, _data: Mapping[str, Any]) -> Any:
    """The CA was base64 of PEM."""
    if not isinstance(value, str):
        report.add(at, "is not base64 of certificates in PEM", value=show_value(value))
        return WRONG
    if value.startswith("-----BEGIN"):
        return value
    try:
        return b64decode("".join(value.split()), validate=True).decode()
    except (NotBase64, ValueError):
        report.add(at, "is not base64 of certificates in PEM", value=show_value(value))
        return WRONG


def turn_source(value: Any, at: Path, report: Report, data: Mapping[str, Any]) -> Any:
    """The one source of artifacts was a template over the version of Kubernetes."""
    if not isinstance(value, str) or "{{" not in value:
        return [value]
    components = data.get("components")
    version = components.get("kubernetes") if isinstance(components, dict) else None
    filled = _TEMPLATE.sub(str(version or "").removeprefix("v"), value)
    if "{{" in filled or not version:
        hint = "write the place itself; a template could name components.kubernetes only"
        report.add(at, "is a template that cannot be filled", value=show_value(value), hint=hint)
        return WRONG
    return [filled]


def check_version(value: Any, at: Path, report: Report, data: Mapping[str, Any]) -> Any:
    return texts.VERSION.decode(turn_version(value, at, report, data), at, report)


def check_flag(value: Any, at: Path, report: Report, _data: Mapping[str, Any]) -> Any:
    return Flag().decode(value, at, report)


def check_interval(value: Any, at: Path, report: Report, _data: Mapping[str, Any]) -> Any:
    """Intervals were durations, or whole numbers of nanoseconds."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    return texts.DURATION.decode(value, at, report)
