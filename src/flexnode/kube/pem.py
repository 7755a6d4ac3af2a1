"""PEM: the text form of certificates and requests."""

from __future__ import annotations

import re
from base64 import b64decode

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\s(.*?)-----END \1-----", re.DOTALL)


def parse_certificates(text: str) -> tuple[bytes, ...]:
    """The certificates in `text`, in DER and in order; what stands between them is skipped.

    A block whose base64 is broken is a ValueError: half a bundle is not a bundle.
    """
    return _parse(text, ("CERTIFICATE",))


def parse_request(text: str) -> bytes:
    """The one certificate request in `text`, in DER."""
    found = _parse(text, ("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"))
    if len(found) != 1:
        raise ValueError(f"{len(found)} certificate requests where one belongs")
    return found[0]


def _parse(text: str, labels: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(
        b64decode("".join(body.split()), validate=True)
        for label, body in _BLOCK.findall(text)
        if label in labels
    )
