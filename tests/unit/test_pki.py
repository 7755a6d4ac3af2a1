"""Certificates that the laboratory issues, checked by what clients check with: OpenSSL, through `ssl`."""

from __future__ import annotations

import socket
import ssl
import threading
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509

from flexlab.errors import LabError
from flexlab.pki import (
    CertificateAuthority,
    Identity,
    TlsFiles,
    Usage,
    create_authority,
    ensure_authority,
    load_authority,
    write_bundle,
    write_signing_key,
)

SERVER = Identity(
    common_name="server",
    dns_names=("server.lab.internal",),
    addresses=(IPv4Address("127.0.0.1"),),
    usages=(Usage.SERVER,),
)


def handshake(
    server: TlsFiles, trusted: CertificateAuthority, host: str, client: TlsFiles | None = None
) -> str:
    """Shake hands over a socket pair; the TLS version that both agreed on."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(server.certificate, server.key)
    asking = ssl.create_default_context(cadata=trusted.certificate.decode())
    asking.verify_flags |= ssl.VERIFY_X509_STRICT
    if client is not None:
        serving.verify_mode = ssl.CERT_REQUIRED
        serving.load_verify_locations(cadata=trusted.certificate.decode())
        asking.load_cert_chain(client.certificate, client.key)
    left, right = socket.socketpair()

    def serve() -> None:
        try:
            with serving.wrap_socket(left, server_side=True) as connection:
                connection.sendall(b"hello")
        except (ssl.SSLError, OSError):
            left.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with asking.wrap_socket(right, server_hostname=host) as connection:
            assert connection.recv(5) == b"hello"
            return connection.version() or ""
    finally:
        right.close()
        thread.join()


@pytest.mark.parametrize("host", ["server.lab.internal", "127.0.0.1"])
def test_a_client_that_trusts_the_authority_reaches_the_server(tmp_path: Path, host: str) -> None:
    authority = create_authority("lab")
    assert handshake(authority.issue(SERVER).write(tmp_path, "server"), authority, host) == "TLSv1.3"


def test_a_server_of_another_authority_is_refused(tmp_path: Path) -> None:
    server = create_authority("lab").issue(SERVER).write(tmp_path, "server")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, create_authority("lab"), "server.lab.internal")


@pytest.mark.parametrize(
    ("identity", "host"),
    [
        (SERVER, "other.lab.internal"),
        (Identity(common_name="x", dns_names=("x",), usages=(Usage.SERVER,), days=-1), "x"),
        (Identity(common_name="x", dns_names=("x",), usages=(Usage.CLIENT,)), "x"),
    ],
    ids=["wrong name", "expired", "not for servers"],
)
def test_a_certificate_that_does_not_fit_is_refused(tmp_path: Path, identity: Identity, host: str) -> None:
    authority = create_authority("lab")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(authority.issue(identity).write(tmp_path, "server"), authority, host)


def test_a_client_certificate_carries_the_kubernetes_user_and_groups(tmp_path: Path) -> None:
    authority = create_authority("lab")
    pair = authority.issue(Identity(common_name="admin", organizations=("system:masters", "other")))
    subject = x509.load_pem_x509_certificate(pair.certificate).subject.rfc4514_string()
    assert subject == "CN=admin,O=other,O=system:masters"
    server = authority.issue(SERVER).write(tmp_path, "server")
    assert handshake(server, authority, "127.0.0.1", pair.write(tmp_path, "admin")) == "TLSv1.3"


def test_an_authority_is_the_same_after_a_restart(tmp_path: Path) -> None:
    first = ensure_authority(tmp_path, "lab")
    second = ensure_authority(tmp_path, "another name, ignored")
    assert second.certificate == first.certificate
    server = load_authority(tmp_path).issue(SERVER).write(tmp_path, "server")
    assert handshake(server, first, "127.0.0.1") == "TLSv1.3"


def test_a_broken_authority_says_so(tmp_path: Path) -> None:
    create_authority("lab").pair.write(tmp_path, "ca")
    (tmp_path / "ca.key").write_text("nonsense")
    with pytest.raises(LabError) as caught:
        load_authority(tmp_path)
    assert caught.value.code == "lab/bad-authority"


def test_only_the_owner_can_read_a_key(tmp_path: Path) -> None:
    files = create_authority("lab").pair.write(tmp_path / "pki", "ca")
    private, public = write_signing_key(tmp_path / "pki", "service-account")
    assert [path.stat().st_mode & 0o777 for path in (files.key, private)] == [0o600, 0o600]
    assert b"PRIVATE" not in public.read_bytes()


def test_a_bundle_makes_a_client_trust_every_authority_in_it(tmp_path: Path) -> None:
    write_bundle(tmp_path / "ca-bundle.pem", [create_authority("one"), create_authority("two")])
    context = ssl.create_default_context(cafile=str(tmp_path / "ca-bundle.pem"))
    assert len([ca for ca in context.get_ca_certs() if ca["subject"][0][0][1] in ("one", "two")]) == 2
