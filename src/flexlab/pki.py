"""The laboratory's certificate authorities, and the keys and certificates that they issue.

Keys are ECDSA P-256: made in a millisecond, and accepted by every program of a cluster. A file that holds a
key is 0600 from its first byte on.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from flexlab.errors import LabError
from flexnode.clock import Clock, SystemClock
from flexnode.secret import Secret

BACKDATE = timedelta(hours=1)
"""The clock of a machine that boots may be a little behind: no certificate is from its future."""

CA_DAYS = 3650


class Usage(StrEnum):
    """What a certificate may prove."""

    SERVER = "server"
    CLIENT = "client"


_USAGE_OIDS = {Usage.SERVER: ExtendedKeyUsageOID.SERVER_AUTH, Usage.CLIENT: ExtendedKeyUsageOID.CLIENT_AUTH}


@dataclass(frozen=True, kw_only=True, slots=True)
class TlsFiles:
    """A certificate and its key on disk, as servers and clients take them."""

    certificate: Path
    key: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyPair:
    """A certificate (PEM) and its private key (PEM, PKCS 8)."""

    certificate: bytes
    key: Secret

    def write(self, folder: Path, name: str) -> TlsFiles:
        """Write `NAME.crt` and `NAME.key` (0600) into `folder`, replacing what lies there."""
        files = TlsFiles(certificate=folder / f"{name}.crt", key=folder / f"{name}.key")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _replace(files.key, self.key.reveal().encode(), 0o600)
        _replace(files.certificate, self.certificate, 0o644)
        return files


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """What to write into a certificate. Kubernetes reads `common_name` as user, `organizations` as groups."""

    common_name: str
    organizations: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()
    addresses: tuple[IPv4Address | IPv6Address, ...] = ()
    usages: tuple[Usage, ...] = (Usage.CLIENT,)
    days: float = 365
    """May be below one, or negative: a certificate that has already expired is worth testing with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CertificateAuthority:
    """A certificate authority; the pair is its own certificate and key."""

    pair: KeyPair
    clock: Clock

    @property
    def certificate(self) -> bytes:
        return self.pair.certificate

    def issue(self, identity: Identity) -> KeyPair:
        """A new key, and a certificate over it that this authority signed."""
        issuer = x509.load_pem_x509_certificate(self.pair.certificate)
        issuer_key = _load_key(self.pair.key)
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in identity.dns_names]
        names += [x509.IPAddress(address) for address in identity.addresses]
        builder = (
            _draft(_subject(identity), issuer.subject, key.public_key(), self.clock.now(), identity.days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([_USAGE_OIDS[usage] for usage in identity.usages]), critical=False
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
            )
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return KeyPair(certificate=_pem(builder.sign(issuer_key, hashes.SHA256())), key=_private_pem(key))


def create_authority(
    common_name: str, *, clock: Clock | None = None, days: float = CA_DAYS
) -> CertificateAuthority:
    """A new self-signed authority, in memory."""
    clock = clock or SystemClock()
    key = ec.generate_private_key(ec.SECP256R1())
    name = _subject(Identity(common_name=common_name))
    builder = (
        _draft(name, name, key.public_key(), clock.now(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
    )
    pair = KeyPair(certificate=_pem(builder.sign(key, hashes.SHA256())), key=_private_pem(key))
    return CertificateAuthority(pair=pair, clock=clock)


def load_authority(folder: Path, name: str = "ca", *, clock: Clock | None = None) -> CertificateAuthority:
    """The authority that `KeyPair.write` laid into `folder`."""
    try:
        certificate = (folder / f"{name}.crt").read_bytes()
        key = Secret((folder / f"{name}.key").read_text(encoding="ascii"))
        x509.load_pem_x509_certificate(certificate)
        _load_key(key)
    except (OSError, ValueError, TypeError) as error:
        raise LabError(
            f"the certificate authority {name} in {folder} cannot be read: {error}",
            code="lab/bad-authority",
            hint="take the lab down and up again: what it signed is of no use without it",
        ) from error
    return CertificateAuthority(pair=KeyPair(certificate=certificate, key=key), clock=clock or SystemClock())


def ensure_authority(
    folder: Path, common_name: str, name: str = "ca", *, clock: Clock | None = None
) -> CertificateAuthority:
    """The authority in `folder`, made now if there is none."""
    if (folder / f"{name}.crt").exists():
        return load_authority(folder, name, clock=clock)
    authority = create_authority(common_name, clock=clock)
    authority.pair.write(folder, name)
    return authority


def write_signing_key(folder: Path, name: str) -> tuple[Path, Path]:
    """Write a bare key `NAME.key` (0600) and its public half `NAME.pub`: what service account tokens need."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _replace(folder / f"{name}.key", _private_pem(key).reveal().encode(), 0o600)
    _replace(folder / f"{name}.pub", public, 0o644)
    return folder / f"{name}.key", folder / f"{name}.pub"


def write_bundle(path: Path, authorities: Sequence[CertificateAuthority]) -> None:
    """Write the certificates of several authorities into one file, as clients take them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, b"".join(authority.certificate for authority in authorities), 0o644)


def _draft(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey, now: datetime, days: float
) -> x509.CertificateBuilder:
    # A certificate that ends before it begins cannot be written: one that has expired began even earlier.
    end = now + timedelta(days=days)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, end) - BACKDATE)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _subject(identity: Identity) -> x509.Name:
    organizations = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in identity.organizations
    ]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, identity.common_name)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> Secret:
    data = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Secret(data.decode("ascii"))


def _load_key(pem: Secret) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem.reveal().encode(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("its key is not an elliptic curve key")
    return key


def _replace(path: Path, data: bytes, mode: int) -> None:
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    # The mode goes into the call that creates the file: there is no moment in which others could open it.
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(data)
    os.replace(draft, path)
