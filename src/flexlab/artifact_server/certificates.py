"""The certificates of an HTTPS port: the good one, and those that no client should trust."""

from __future__ import annotations

import ssl
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

from cryptography import x509

from flexlab.artifact_server.faults import TlsFlaw
from flexlab.errors import LabError
from flexlab.pki import CertificateAuthority, Identity, KeyPair, TlsFiles, Usage, create_authority

WRONG_HOST = "another-host.invalid"


class Certificates:
    """TLS contexts, made when first needed.

    A flaw is the only thing wrong with a certificate: one of an unknown authority is for the right host, and
    one for the wrong host is signed by `authority`, which clients trust.
    """

    def __init__(self, files: TlsFiles, authority: CertificateAuthority | None = None) -> None:
        self._files = files
        self._authority = authority
        self._lock = threading.Lock()
        self._contexts: dict[TlsFlaw | None, ssl.SSLContext] = {None: _load(files)}

    def context(self, flaw: TlsFlaw | None) -> ssl.SSLContext:
        with self._lock:
            if flaw not in self._contexts:
                self._contexts[flaw] = _load_pair(self._issue(flaw))
            return self._contexts[flaw]

    def _issue(self, flaw: TlsFlaw | None) -> KeyPair:
        identity = _read_identity(self._files.certificate)
        match flaw:
            case TlsFlaw.WRONG_HOST:
                identity = replace(identity, dns_names=(WRONG_HOST,), addresses=())
            case TlsFlaw.EXPIRED:
                identity = replace(identity, days=-1)
        # Without the trusted authority every flaw comes with an unknown one; a good certificate never comes.
        trusted = self._authority if flaw is not TlsFlaw.UNKNOWN_AUTHORITY else None
        return (trusted or create_authority("An authority that nobody knows")).issue(identity)


def _read_identity(path: Path) -> Identity:
    names = x509.load_pem_x509_certificate(path.read_bytes()).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    return Identity(
        common_name="artifacts",
        dns_names=tuple(names.value.get_values_for_type(x509.DNSName)),
        addresses=tuple(names.value.get_values_for_type(x509.IPAddress)),  # type: ignore[arg-type]
        usages=(Usage.SERVER,),
    )


def _load_pair(pair: KeyPair) -> ssl.SSLContext:
    with tempfile.TemporaryDirectory() as folder:
        return _load(pair.write(Path(folder), "server"))


def _load(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(files.certificate, files.key)
    except (OSError, ssl.SSLError) as error:
        raise LabError(
            f"{files.certificate} and {files.key} are not a certificate and its key: {error}",
            code="lab/bad-certificate",
            hint="pass a PEM certificate and the PEM key that it was issued for",
        ) from error
    return context
