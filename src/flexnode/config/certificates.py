"""Certificates as text: whether PEM text holds certificates, and nothing that must stay secret."""

from __future__ import annotations

import re
from base64 import b64decode

from flexnode.config.rules import Wrong

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\s(.*?)-----END \1-----", re.DOTALL)
_SEQUENCE, _BIT_STRING = 0x30, 0x03


def check_certificates(text: str) -> Wrong | None:
    """One or more certificates in PEM."""
    blocks = _BLOCK.findall(text)
    if not blocks:
        if text.startswith("LS0tLS1CRUdJTi"):  # what PEM looks like in a kubeconfig
            return Wrong("is base64 of a certificate", hint="decode it: base64 -d")
        return Wrong("is not a certificate in PEM", hint="it begins with -----BEGIN CERTIFICATE-----")
    for label, body in blocks:
        if "PRIVATE KEY" in label:
            return Wrong("holds a private key", hint="only certificates belong here")
        if label != "CERTIFICATE":
            return Wrong(f"holds a {label.lower()}", hint="only certificates belong here")
        try:
            der = b64decode("".join(body.split()), validate=True)
        except ValueError:  # letters that base64 does not have, of whatever alphabet
            return Wrong("holds a certificate whose base64 is damaged")
        if not _is_certificate(der):
            return Wrong("holds a certificate that is damaged or cut off")
    outside = _BLOCK.sub("", text)
    if "-----" in outside:
        return Wrong("holds a certificate that is damaged or cut off")
    return None


def _is_certificate(der: bytes) -> bool:
    """Whether DER has the outline of X.509: what is signed, how, and the signature."""
    whole = _elements(der)
    if whole is None or [tag for tag, _ in whole] != [_SEQUENCE]:
        return False
    parts = _elements(whole[0][1])
    return parts is not None and [tag for tag, _ in parts] == [_SEQUENCE, _SEQUENCE, _BIT_STRING]


def _elements(data: bytes) -> list[tuple[int, bytes]] | None:
    """The elements that lie one after another in `data`; None if they do not fill it exactly."""
    elements = []
    at = 0
    while at < len(data):
        if at + 2 > len(data):
            return None
        tag, length = data[at], data[at + 1]
        at += 2
        if length & 0x80:
            count = length & 0x7F
            if not 1 <= count <= 4 or at + count > len(data):
                return None
            length = int.from_bytes(data[at : at + count], "big")
            at += count
        if at + length > len(data):
            return None
        elements.append((tag, data[at : at + length]))
        at += length
    return elements
