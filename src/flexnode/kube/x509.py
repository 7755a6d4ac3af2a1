"""What the product reads of certificates and certificate requests; nothing here checks a signature."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address, ip_address

from flexnode.kube.der import (
    DerError,
    Element,
    Tag,
    expect,
    parse_element,
    parse_oid,
    parse_text,
    parse_time,
)

COMMON_NAME = "2.5.4.3"
ORGANIZATION = "2.5.4.10"

_EXTENSION_REQUEST = "1.2.840.113549.1.9.14"
_SUBJECT_ALTERNATIVE_NAME = "2.5.29.17"
_CONTEXT_0 = 0xA0  # [0], constructed
_DNS_NAME, _IP_ADDRESS = 0x82, 0x87  # [2] and [7], primitive

Name = tuple[tuple[str, str], ...]
"""The attributes of a distinguished name in order: object identifier, value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    """A certificate. `public_key` is its SubjectPublicKeyInfo, as encoded."""

    subject: Name
    not_before: datetime
    not_after: datetime
    public_key: bytes

    @property
    def public_key_hash(self) -> str:
        """What pins a CA: `sha256:` and the hash of its public key, as kubeadm writes it."""
        return f"sha256:{hashlib.sha256(self.public_key).hexdigest()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CertificateRequest:
    """A PKCS 10 request. `other_names` counts alternative names that are neither DNS names nor addresses."""

    subject: Name
    dns_names: tuple[str, ...] = ()
    addresses: tuple[IPv4Address | IPv6Address, ...] = ()
    other_names: int = 0


def parse_certificate(der: bytes) -> Certificate:
    """Read a certificate."""
    body = _signed(der)
    fields = list(expect(body, Tag.SEQUENCE).children())
    if fields and fields[0].tag == _CONTEXT_0:  # the version, absent in the oldest
        fields.pop(0)
    _serial, _algorithm, _issuer, validity, subject, public_key, *_extensions = _at_least(fields, 6)
    begin, end = _exactly(expect(validity, Tag.SEQUENCE).children(), 2)
    return Certificate(
        subject=_parse_name(subject),
        not_before=parse_time(begin),
        not_after=parse_time(end),
        public_key=expect(public_key, Tag.SEQUENCE).whole,
    )


def parse_certificate_request(der: bytes) -> CertificateRequest:
    """Read a request. What could be read in two ways (a name list twice) is a DerError."""
    body = _signed(der)
    fields = expect(body, Tag.SEQUENCE).children()
    _version, subject, _public_key, *rest = _at_least(fields, 3)
    names = _find_alternative_names(rest)
    dns_names, addresses, others = [], [], 0
    for name in () if names is None else names:
        if name.tag == _DNS_NAME:
            dns_names.append(_decode_ascii(name.content))
        elif name.tag == _IP_ADDRESS:
            addresses.append(_parse_address(name.content))
        else:
            others += 1
    return CertificateRequest(
        subject=_parse_name(subject),
        dns_names=tuple(dns_names),
        addresses=tuple(addresses),
        other_names=others,
    )


def _signed(der: bytes) -> Element:
    """The part of a signed structure that is signed."""
    parts = expect(parse_element(der), Tag.SEQUENCE).children()
    body, _algorithm, signature = _exactly(parts, 3)
    expect(signature, Tag.BIT_STRING)
    return body


def _find_alternative_names(rest: list[Element]) -> tuple[Element, ...] | None:
    found: list[tuple[Element, ...]] = []
    for attributes in rest:
        for attribute in expect(attributes, _CONTEXT_0).children():
            kind, values = _exactly(expect(attribute, Tag.SEQUENCE).children(), 2)
            if parse_oid(kind) != _EXTENSION_REQUEST:
                continue
            for extensions in expect(values, Tag.SET).children():
                for extension in expect(extensions, Tag.SEQUENCE).children():
                    name, *_critical, value = _at_least(expect(extension, Tag.SEQUENCE).children(), 2)
                    if parse_oid(name) == _SUBJECT_ALTERNATIVE_NAME:
                        content = expect(value, Tag.OCTET_STRING).content
                        found.append(expect(parse_element(content), Tag.SEQUENCE).children())
    if len(found) > 1:
        raise DerError("alternative names are asked for more than once")
    return found[0] if found else None


def _parse_name(element: Element) -> Name:
    attributes = []
    for relative in expect(element, Tag.SEQUENCE).children():
        for pair in expect(relative, Tag.SET).children():
            kind, value = _exactly(expect(pair, Tag.SEQUENCE).children(), 2)
            attributes.append((parse_oid(kind), parse_text(value)))
    return tuple(attributes)


def _parse_address(content: bytes) -> IPv4Address | IPv6Address:
    if len(content) not in (4, 16):
        raise DerError(f"an address of {len(content)} bytes")
    return ip_address(content)


def _decode_ascii(content: bytes) -> str:
    if not content.isascii():
        raise DerError("a DNS name with characters that DNS does not have")
    return content.decode("ascii")


def _exactly(elements: tuple[Element, ...], count: int) -> tuple[Element, ...]:
    if len(elements) != count:
        raise DerError(f"{len(elements)} parts where {count} belong")
    return elements


def _at_least(elements: tuple[Element, ...] | list[Element], count: int) -> list[Element]:
    if len(elements) < count:
        raise DerError(f"{len(elements)} parts where at least {count} belong")
    return list(elements)
