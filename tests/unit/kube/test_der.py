"""What is read of certificates is what is in them: compared with a full implementation, and on noise."""

from __future__ import annotations

import contextlib
import hashlib
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnode.kube.der import DerError, Tag, parse_element, parse_elements, parse_oid, parse_text, parse_time
from flexnode.kube.pem import parse_certificates, parse_request
from flexnode.kube.x509 import (
    COMMON_NAME,
    ORGANIZATION,
    parse_certificate,
    parse_certificate_request,
)

KEY = ec.generate_private_key(ec.SECP256R1())
RSA_KEY = rsa.generate_private_key(65537, 2048)

# DER has no room for a time before 1950, and the tools none for fractions of a second.
moments = st.datetimes(datetime(1951, 1, 1), datetime(2120, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(
    lambda text: len(text.encode()) <= 64  # the longest name that a certificate may hold
)
dns_names = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?(\.[a-z0-9]{1,8}){0,3}", fullmatch=True)
addresses = st.ip_addresses()


def name(common: str, organizations: list[str]) -> x509.Name:
    pairs = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    return x509.Name([*pairs, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def make_request(subject: x509.Name, names: list[x509.GeneralName], *extensions: x509.ExtensionType) -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=True)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.DER)


def make_certificate(
    subject: x509.Name,
    begin: datetime,
    end: datetime,
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey = KEY,
) -> bytes:
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(name("issuer", []))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    return builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.DER)


@pytest.mark.slow
@settings(deadline=None)
@given(words, st.lists(words, max_size=3), moments, moments)
def test_a_certificate_is_read_as_others_read_it(
    common: str, organizations: list[str], one: datetime, two: datetime
) -> None:
    begin, end = sorted([one, two])
    der = make_certificate(name(common, organizations), begin, end)
    found, known = parse_certificate(der), x509.load_der_x509_certificate(der)
    assert found.not_before == known.not_valid_before_utc
    assert found.not_after == known.not_valid_after_utc
    assert found.subject == tuple((each.oid.dotted_string, str(each.value)) for each in known.subject)
    info = known.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert found.public_key == info
    assert found.public_key_hash == f"sha256:{hashlib.sha256(info).hexdigest()}"


def test_an_rsa_certificate_has_the_hash_that_kubeadm_prints() -> None:
    der = make_certificate(name("kubernetes", []), datetime(2026, 1, 1), datetime(2036, 1, 1), RSA_KEY)
    info = RSA_KEY.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert parse_certificate(der).public_key_hash == f"sha256:{hashlib.sha256(info).hexdigest()}"


@settings(deadline=None)
@given(words, st.lists(words, max_size=2), st.lists(dns_names, max_size=4), st.lists(addresses, max_size=4))
def test_a_request_is_read_as_others_read_it(
    common: str, organizations: list[str], names: list[str], ips: list[object]
) -> None:
    general = [*map(x509.DNSName, names), *(x509.IPAddress(ip_address(str(each))) for each in ips)]
    found = parse_certificate_request(make_request(name(common, organizations), general))
    assert found.subject == (*((ORGANIZATION, each) for each in organizations), (COMMON_NAME, common))
    assert found.dns_names == tuple(names)
    assert found.addresses == tuple(ips)
    assert found.other_names == 0


def test_names_that_are_no_hosts_are_counted() -> None:
    """An approver that saw only hosts would sign the rest unseen."""
    names = [
        x509.DNSName("a"),
        x509.RFC822Name("a@b.c"),
        x509.UniformResourceIdentifier("spiffe://a/b"),
        x509.DirectoryName(name("x", [])),
        x509.RegisteredID(x509.ObjectIdentifier("1.2.3")),
    ]
    found = parse_certificate_request(make_request(name("n", []), names))
    assert (found.dns_names, found.other_names) == (("a",), 4)


def test_other_extensions_do_not_hide_the_names() -> None:
    usage = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH])
    found = parse_certificate_request(make_request(name("n", []), [x509.DNSName("a")], usage))
    assert found.dns_names == ("a",)


def sequence(*parts: bytes, tag: int = Tag.SEQUENCE) -> bytes:
    content = b"".join(parts)
    size = len(content)
    digits = size.to_bytes(2, "big").lstrip(b"\0")
    length = bytes([size]) if size < 128 else bytes([0x80 | len(digits)]) + digits
    return bytes([tag]) + length + content


def test_names_asked_for_twice_are_refused() -> None:
    """Two readers could each take another one of the lists."""
    whole = parse_element(make_request(name("n", []), [x509.DNSName("a")]))
    body, algorithm, signature = whole.children()
    version, subject, key, attributes = body.children()
    (attribute,) = attributes.children()
    twice = sequence(attribute.whole, attribute.whole, tag=0xA0)
    forged = sequence(
        sequence(version.whole, subject.whole, key.whole, twice), algorithm.whole, signature.whole
    )
    with pytest.raises(DerError, match="more than once"):
        parse_certificate_request(forged)


@settings(deadline=None)
@given(st.binary(max_size=120))
def test_noise_is_never_a_crash(data: bytes) -> None:
    for read in (parse_elements, parse_certificate, parse_certificate_request):
        with contextlib.suppress(DerError):
            read(data)
    for tag in Tag:
        element = parse_element(sequence(data, tag=tag))
        for read_one in (parse_oid, parse_text, parse_time):
            with contextlib.suppress(DerError):
                read_one(element)


CERTIFICATE = make_certificate(name("kubernetes", ["o"]), datetime(2026, 1, 1), datetime(2036, 1, 1))
REQUEST = make_request(name("system:node:a", ["system:nodes"]), [x509.DNSName("a"), x509.DNSName("b")])


@settings(deadline=None)
@given(st.integers(0, len(CERTIFICATE) - 1), st.integers(1, 255))
def test_a_damaged_certificate_is_never_a_crash(at: int, flip: int) -> None:
    damaged = bytearray(CERTIFICATE)
    damaged[at] ^= flip
    with contextlib.suppress(DerError):
        parse_certificate(bytes(damaged))


@settings(deadline=None)
@given(st.integers(0, len(REQUEST) - 1), st.integers(1, 255))
def test_a_damaged_request_is_never_a_crash(at: int, flip: int) -> None:
    damaged = bytearray(REQUEST)
    damaged[at] ^= flip
    with contextlib.suppress(DerError):
        parse_certificate_request(bytes(damaged))


@settings(deadline=None)
@given(st.integers(0, len(CERTIFICATE) - 1))
def test_half_a_certificate_is_refused(size: int) -> None:
    with pytest.raises(DerError):
        parse_certificate(CERTIFICATE[:size])


@pytest.mark.parametrize(
    "data",
    [
        b"\x30\x80\x00\x00",  # indefinite length
        b"\x30\x81\x01\x00",  # a length of one byte, written in two
        b"\x30\x82\x00\x80" + b"\x00" * 128,  # a length with a leading zero
        b"\x30\x05\x00",  # longer than what holds it
        b"\x1f\x81\x01\x00",  # a tag of more than one byte
        b"\x30",
        b"\x30\x85\x01\x00\x00\x00\x00",
    ],
)
def test_what_is_not_distinguished_encoding_is_refused(data: bytes) -> None:
    with pytest.raises(DerError):
        parse_elements(data)


@pytest.mark.parametrize(
    ("tag", "text", "moment"),
    [
        (Tag.UTC_TIME, b"260102030405Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (Tag.UTC_TIME, b"990102030405Z", datetime(1999, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (Tag.GENERALIZED_TIME, b"20510102030405Z", datetime(2051, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (Tag.UTC_TIME, b"260102030405", None),
        (Tag.UTC_TIME, b"2601020304Z", None),
        (Tag.UTC_TIME, b"260102030405+0100", None),
        (Tag.GENERALIZED_TIME, b"20511302030405Z", None),
        (Tag.OCTET_STRING, b"260102030405Z", None),
    ],
)
def test_moments(tag: Tag, text: bytes, moment: datetime | None) -> None:
    element = parse_element(sequence(text, tag=tag))
    if moment is None:
        with pytest.raises(DerError):
            parse_time(element)
    else:
        assert parse_time(element) == moment


def test_certificates_are_found_in_a_bundle_and_nothing_else_is() -> None:
    first = x509.load_der_x509_certificate(CERTIFICATE)
    later = x509.load_der_x509_certificate(
        make_certificate(name("b", []), datetime(2026, 1, 1), datetime(2026, 1, 1) + timedelta(days=1))
    )
    request = x509.load_der_x509_csr(REQUEST)
    pems = [each.public_bytes(Encoding.PEM).decode() for each in (first, request, later)]
    bundle = "# comments\n" + "\nsubject=x\n".join(pems)
    assert parse_certificates(bundle) == tuple(each.public_bytes(Encoding.DER) for each in (first, later))
    assert parse_request(bundle) == REQUEST
    with pytest.raises(ValueError, match="2 certificate requests"):
        parse_request(pems[1] * 2)
    with pytest.raises(ValueError, match=r"[Bb]ase64|padding|alphabet"):
        parse_certificates("-----BEGIN CERTIFICATE-----\nMII%\n-----END CERTIFICATE-----\n")
