"""Whom to trust and with which certificate to come: TLS settings of a connection."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flexnode.kube.connection import ClientCertificate, ClientCertificateFiles, Connection
from flexnode.kube.failures import Code, failure


def load_trust(connection: Connection) -> ssl.SSLContext:
    """TLS that verifies the server against the connection's CA, and brings its client certificate if any."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # A cluster's CA may be an intermediate one: whoever was handed it as the CA wants it to be the anchor.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if connection.ca:
        try:
            context.load_verify_locations(cadata=connection.ca)
        except (ssl.SSLError, ValueError) as error:
            raise failure(Code.BAD_CA, f"the cluster's CA cannot be read: {error}") from error
    else:
        context.load_default_certs()
    match connection.credential:
        case ClientCertificateFiles(certificate=certificate, key=key):
            _load_files(context, certificate, key)
        case ClientCertificate(certificate=text, key=secret):
            with _in_memory(text.encode()) as chain, _in_memory(secret.reveal().encode()) as key:
                _load_pair(context, chain, key, "the client certificate")
    return context


def _load_files(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    for path in (certificate, key):
        if not path.is_file():
            raise failure(Code.BAD_CREDENTIALS, f"there is no client certificate: {path} does not exist")
    _load_pair(context, certificate, key, str(certificate))


def _load_pair(context: ssl.SSLContext, certificate: Path, key: Path, what: str) -> None:
    try:
        # An encrypted key would otherwise ask for its password on the terminal.
        context.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        raise failure(
            Code.BAD_CREDENTIALS, f"{what} and its key cannot be used: {error.args[-1] if error.args else ''}"
        ) from error


@contextmanager
def _in_memory(data: bytes) -> Iterator[Path]:
    """A path under which `data` can be opened. OpenSSL takes only paths, and a key belongs on no disk."""
    handle = os.memfd_create("flexnode", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(handle), "wb") as file:
            file.write(data)
        yield Path(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)
