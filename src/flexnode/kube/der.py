"""As much of ASN.1's distinguished encoding as certificates need; strict, since what is read here is trusted.

Whatever the bytes are, the answer is a value or a DerError.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum

CONSTRUCTED = 0x20


class DerError(ValueError):
    """The bytes are not what they should be."""


class Tag(IntEnum):
    """The tags that certificates use, as the one byte that they are."""

    BOOLEAN = 0x01
    INTEGER = 0x02
    BIT_STRING = 0x03
    OCTET_STRING = 0x04
    OID = 0x06
    UTF8_STRING = 0x0C
    PRINTABLE_STRING = 0x13
    T61_STRING = 0x14
    IA5_STRING = 0x16
    UTC_TIME = 0x17
    GENERALIZED_TIME = 0x18
    UNIVERSAL_STRING = 0x1C
    BMP_STRING = 0x1E
    SEQUENCE = 0x30
    SET = 0x31


_ENCODINGS = {
    Tag.UTF8_STRING: "utf-8",
    Tag.PRINTABLE_STRING: "ascii",
    Tag.T61_STRING: "latin-1",
    Tag.IA5_STRING: "ascii",
    Tag.UNIVERSAL_STRING: "utf-32-be",
    Tag.BMP_STRING: "utf-16-be",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Element:
    """A tag with its content; `whole` is the element as it was encoded."""

    tag: int
    content: bytes
    whole: bytes

    def children(self) -> tuple[Element, ...]:
        """The elements of which this one is made."""
        if not self.tag & CONSTRUCTED:
            raise DerError(f"an element with tag {self.tag:#04x} has no parts")
        return parse_elements(self.content)


def parse_element(data: bytes) -> Element:
    """The one element that `data` is."""
    elements = parse_elements(data)
    if len(elements) != 1:
        raise DerError(f"{len(elements)} elements where one belongs")
    return elements[0]


def parse_elements(data: bytes) -> tuple[Element, ...]:
    """The elements that `data` is made of, to its last byte."""
    found = []
    start = 0
    while start < len(data):
        content, end = _extent(data, start)
        found.append(Element(tag=data[start], content=data[content:end], whole=data[start:end]))
        start = end
    return tuple(found)


def expect(element: Element, tag: int) -> Element:
    """`element`, which must have that tag."""
    if element.tag != tag:
        raise DerError(f"tag {element.tag:#04x} where {tag:#04x} belongs")
    return element


def parse_oid(element: Element) -> str:
    """An object identifier in dotted form."""
    content = expect(element, Tag.OID).content
    arcs: list[int] = []
    value, fresh = 0, True
    for byte in content:
        if fresh and byte == 0x80:
            raise DerError("a number in an object identifier begins with a zero")
        value, fresh = value << 7 | byte & 0x7F, False
        if not byte & 0x80:
            arcs.append(value)
            value, fresh = 0, True
    if not arcs or not fresh:
        raise DerError("an object identifier is cut short")
    first = min(arcs[0] // 40, 2)
    return ".".join(str(arc) for arc in (first, arcs[0] - 40 * first, *arcs[1:]))


def parse_text(element: Element) -> str:
    """A string of any of the kinds that names are written in."""
    encoding = _ENCODINGS.get(element.tag)  # type: ignore[call-overload]
    if encoding is None:
        raise DerError(f"tag {element.tag:#04x} is not that of a string")
    try:
        return element.content.decode(encoding)
    except UnicodeDecodeError as error:
        raise DerError(f"a string cannot be decoded: {error.reason}") from error


def parse_time(element: Element) -> datetime:
    """A moment, as certificates write it: to the second, in UTC."""
    text = element.content.decode("latin-1")
    digits = text.removesuffix("Z")
    size = {Tag.UTC_TIME: 12, Tag.GENERALIZED_TIME: 14}.get(element.tag)  # type: ignore[call-overload]
    if len(digits) != size or text == digits or not (digits.isascii() and digits.isdigit()):
        raise DerError("a moment is not written in UTC to the second")
    if size == 12:  # a year of two digits: 50 to 99 are those of the last century
        digits = ("19" if digits >= "5" else "20") + digits
    try:
        return datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError as error:
        raise DerError(f"no such moment: {text}") from error


def _extent(data: bytes, start: int) -> tuple[int, int]:
    """Where the content of the element at `start` begins and where it ends."""
    if data[start] & 0x1F == 0x1F:
        raise DerError("a tag of more than one byte")
    if start + 1 >= len(data):
        raise DerError("an element without a length")
    length, content = data[start + 1], start + 2
    if length == 0x80:
        raise DerError("an element of indefinite length")
    if length > 0x80:
        count = length & 0x7F
        digits = data[content : content + count]
        length, content = int.from_bytes(digits, "big"), content + count
        if count > 4 or len(digits) != count or digits[0] == 0 or length < 0x80:
            raise DerError("a length that is not written in its shortest form")
    if content + length > len(data):
        raise DerError("an element is longer than what holds it")
    return content, content + length
