"""The JSON Schema of the document, made from the declarations that the decoder reads."""

from __future__ import annotations

from typing import Any

from flexnode.config import v1


def make_schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12: for editors, and for checks that need no product.

    It accepts everything that the decoder accepts. The decoder knows more: what lies in a certificate, which
    labels a node may not set, what settings must be together.
    """
    body = v1.NODE_CONFIG.schema()
    header = {
        v1.EDITOR_KEY: {"type": "string", "description": "Where editors find this schema."},
        "apiVersion": {"const": v1.API_VERSION, "description": "The version of this document."},
        "kind": {"const": v1.KIND, "description": "What this document is."},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "AKS Flex Node: NodeConfig",
        "description": v1.NODE_CONFIG.about,
        **body,
        "properties": {**header, **body["properties"]},
        "required": list(v1.HEADER),
    }


def render_schema() -> str:
    import json

    return json.dumps(make_schema(), indent=2, ensure_ascii=False) + "\n"
