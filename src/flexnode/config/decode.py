"""One decoder for each version of the document, all ending in the same shape."""

from __future__ import annotations

from typing import Any

from flexnode.config import v1
from flexnode.config.history import convert
from flexnode.config.layers import DecodedLayer, Layer
from flexnode.config.problems import Report


def decode_layer(layer: Layer) -> DecodedLayer:
    """What one source says, of whichever version; never raises for what is wrong in it."""
    report = Report(origin=layer.origin)
    if not isinstance(layer.data, dict):
        report.add((), "is not a map of settings")
        return DecodedLayer(origin=layer.origin, data={}, problems=tuple(report.problems))
    data: dict[str, Any] = dict(layer.data)
    stated = [key for key in v1.HEADER if key in data]
    if stated or layer.fragment:
        if len(stated) == 1:
            (missing,) = v1.HEADER.keys() - stated
            report.add((missing,), "is missing", hint=f"write {missing}: {v1.HEADER[missing]}")
        found = v1.decode(data, report)
        return DecodedLayer(origin=layer.origin, data=found, problems=tuple(report.problems))
    data.pop(v1.EDITOR_KEY, None)
    converted = convert(data, report)
    return DecodedLayer(
        origin=layer.origin,
        data=v1.decode(converted.data, report),
        keys=converted.keys,
        problems=tuple(report.problems),
        warnings=converted.warnings,
    )
