"""The CA of an unknown server is believed only when it proves itself."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexlab.pki import CertificateAuthority, Identity, create_authority
from flexnode.clock import FakeClock, SystemClock
from flexnode.errors import FlexError, KubeError
from flexnode.kube import Connection
from flexnode.kube.pem import parse_certificates
from flexnode.kube.trust import (
    Discovered,
    Proof,
    check_signature,
    discover_authority,
    parse_pin,
    select_pinned,
)
from flexnode.kube.x509 import parse_certificate
from flexnode.secret import Secret
from unit.kube.api_server import SERVER, Reply, Seen, always, as_json, refusal, serve

TOKEN = Secret("abcdef.0123456789abcdef")
PATH = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
INNER = "https://api.example.com:6443"


def pin_of(authority: CertificateAuthority) -> str:
    (der,) = parse_certificates(authority.certificate.decode())
    return parse_certificate(der).public_key_hash


def kubeconfig_of(*authorities: CertificateAuthority, server: str = INNER) -> str:
    ca = b"".join(authority.certificate for authority in authorities)
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(ca).decode()}
    return json.dumps({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": cluster}]})


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def sign(kubeconfig: str, token: Secret = TOKEN, header: dict[str, object] | None = None) -> str:
    """A detached JWS as the cluster's bootstrap signer makes it."""
    identifier, _, key = token.reveal().partition(".")
    head = encode(json.dumps(header or {"alg": "HS256", "kid": identifier}, separators=(",", ":")).encode())
    message = f"{head}.{encode(kubeconfig.encode())}".encode()
    return f"{head}..{encode(hmac.digest(key.encode(), message, hashlib.sha256))}"


def cluster_info(kubeconfig: str, *signatures: tuple[str, str]) -> Reply:
    signed = {f"jws-kubeconfig-{identifier}": text for identifier, text in signatures}
    return as_json({"kind": "ConfigMap", "data": {"kubeconfig": kubeconfig, **signed}})


def honest(authority: CertificateAuthority) -> Reply:
    text = kubeconfig_of(authority)
    return cluster_info(text, ("abcdef", sign(text)))


def failing(url: str, proof: Proof) -> FlexError:
    with pytest.raises(FlexError) as caught:
        discover_authority(Connection(server=url, credential=TOKEN), proof, FakeClock())
    return caught.value


def discovered(url: str, proof: Proof) -> Discovered:
    # With the machine's own clock: the CA must be valid by it.
    return discover_authority(Connection(server=url), proof, SystemClock())


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return create_authority("kubernetes")


def proofs(authority: CertificateAuthority) -> dict[str, Proof]:
    return {
        "token": Proof(token=TOKEN),
        "pin": Proof(pins=(pin_of(authority),)),
        "both": Proof(token=TOKEN, pins=(pin_of(authority),)),
        "one-of-two-pins": Proof(
            pins=("sha256:" + "0" * 64, pin_of(authority).upper().replace("SHA", "sha"))
        ),
    }


@pytest.mark.parametrize("proof", ["token", "pin", "both", "one-of-two-pins"])
def test_an_honest_cluster_is_recognised(authority: CertificateAuthority, proof: str) -> None:
    with serve(always(honest(authority)), authority=authority) as server:
        found = discovered(server.url, proofs(authority)[proof])
    assert parse_certificates(found.ca) == parse_certificates(authority.certificate.decode())
    assert found.server == INNER
    assert {seen.path for seen in server.seen} == {PATH}


def test_no_credential_goes_to_a_server_that_is_not_verified(authority: CertificateAuthority) -> None:
    with serve(always(honest(authority)), authority=authority) as server:
        connection = Connection(server=server.url, credential=TOKEN)
        discover_authority(connection, Proof(token=TOKEN), SystemClock())
    assert [seen for seen in server.seen if "Authorization" in seen.headers] == []
    assert not any(TOKEN.reveal().partition(".")[2] in str(seen) for seen in server.seen)


def test_without_any_proof_nobody_is_asked(authority: CertificateAuthority) -> None:
    with serve(always(honest(authority)), authority=authority) as server:
        assert failing(server.url, Proof()).code == "kube/ca-unverified"
    assert server.seen == []


class TestImpostors:
    """Somebody answers in the server's place, with a CA of his own and all that anybody can see."""

    def expect_refusal(self, answer: Callable[[Seen], Reply], proof: Proof, code: str) -> None:
        with serve(answer, authority=create_authority("impostor")) as server:
            error = failing(server.url, proof)
        assert (error.code, error.transient) == (code, False)

    def test_who_signs_with_another_token_is_refused(self) -> None:
        text = kubeconfig_of(create_authority("impostor"))
        forged = sign(text, Secret("abcdef.fedcba9876543210"))
        self.expect_refusal(
            always(cluster_info(text, ("abcdef", forged))), Proof(token=TOKEN), "kube/ca-unverified"
        )

    def test_who_lays_another_ca_under_a_true_signature_is_refused(
        self, authority: CertificateAuthority
    ) -> None:
        signature = sign(kubeconfig_of(authority))
        text = kubeconfig_of(create_authority("impostor"))
        self.expect_refusal(
            always(cluster_info(text, ("abcdef", signature))), Proof(token=TOKEN), "kube/ca-unverified"
        )

    @pytest.mark.parametrize(
        "header",
        [
            {"alg": "none", "kid": "abcdef"},
            {"alg": "HS384", "kid": "abcdef"},
            {"alg": "HS256", "kid": "fedcba"},
        ],
    )
    def test_another_way_of_signing_is_refused(self, header: dict[str, object]) -> None:
        text = kubeconfig_of(create_authority("impostor"))
        reply = cluster_info(text, ("abcdef", sign(text, header=header)))
        self.expect_refusal(always(reply), Proof(token=TOKEN), "kube/ca-unverified")

    def test_a_ca_that_is_not_pinned_is_refused(self, authority: CertificateAuthority) -> None:
        reply = honest(create_authority("impostor"))
        self.expect_refusal(always(reply), Proof(pins=(pin_of(authority),)), "kube/ca-unverified")

    def test_with_both_proofs_one_is_not_enough(self, authority: CertificateAuthority) -> None:
        impostor = create_authority("impostor")
        signed = honest(impostor)
        proof = Proof(token=TOKEN, pins=(pin_of(authority),))
        self.expect_refusal(always(signed), proof, "kube/ca-unverified")
        text = kubeconfig_of(authority)
        unsigned = cluster_info(text, ("abcdef", sign(text, Secret("abcdef.fedcba9876543210"))))
        self.expect_refusal(always(unsigned), proof, "kube/ca-unverified")

    def test_a_ca_beside_the_pinned_one_is_not_trusted(self, authority: CertificateAuthority) -> None:
        """The pinned CA in the list proves nothing about its neighbour, whose the server is."""
        impostor = create_authority("impostor")
        reply = cluster_info(kubeconfig_of(authority, impostor))
        with serve(always(reply), authority=impostor) as server:
            error = failing_now(server.url, Proof(pins=(pin_of(authority),)))
        assert error.code == "kube/tls-untrusted"

    def test_who_shows_the_true_ca_without_its_key_is_refused(self, authority: CertificateAuthority) -> None:
        with serve(always(honest(authority)), authority=create_authority("impostor")) as server:
            error = failing_now(server.url, Proof(token=TOKEN))
        assert error.code == "kube/tls-untrusted"

    def test_who_tells_strangers_something_else_is_refused(self, authority: CertificateAuthority) -> None:
        other = kubeconfig_of(authority, server="https://elsewhere.example")

        def answer(_seen: Seen) -> Reply:
            return honest(authority) if len(server.seen) == 1 else cluster_info(other)

        with serve(answer, authority=authority) as server:
            assert failing_now(server.url, Proof(token=TOKEN)).code == "kube/ca-unverified"


def failing_now(url: str, proof: Proof) -> KubeError:
    with pytest.raises(KubeError) as caught:
        discovered(url, proof)
    return caught.value


class TestTokens:
    def test_a_token_that_the_cluster_does_not_know_is_terminal_after_a_little_patience(
        self, authority: CertificateAuthority
    ) -> None:
        clock = FakeClock()
        reply = cluster_info(kubeconfig_of(authority), ("zzzzzz", "x..y"))
        with serve(always(reply), authority=authority) as server, pytest.raises(KubeError) as caught:
            discover_authority(Connection(server=server.url), Proof(token=TOKEN), clock)
        assert (caught.value.code, caught.value.transient) == ("kube/token-unknown", False)
        assert "abcdef" in caught.value.message
        assert clock.slept == [1, 2, 4]

    def test_a_token_of_this_second_is_waited_for(self, authority: CertificateAuthority) -> None:
        class Now(SystemClock):
            def sleep(self, seconds: float) -> None:
                pass

        def answer(_seen: Seen) -> Reply:
            return cluster_info(kubeconfig_of(authority)) if len(server.seen) < 3 else honest(authority)

        with serve(answer, authority=authority) as server:
            found = discover_authority(Connection(server=server.url), Proof(token=TOKEN), Now())
        assert found.server == INNER

    def test_what_is_no_token_is_not_quoted(self) -> None:
        error = failing("https://10.0.0.1", Proof(token=Secret("MySecretPassword")))
        assert error.code == "kube/bad-token"
        assert "MySecretPassword" not in str(error.record())


@pytest.mark.parametrize(
    ("reply", "code", "transient"),
    [
        (refusal(404), "kube/no-cluster-info", False),
        (refusal(403), "kube/no-cluster-info", False),
        (refusal(401), "kube/no-cluster-info", False),
        (refusal(503), "kube/server-error", True),
        (Reply(body=b"<html>sign in"), "kube/bad-response", False),
        (Reply(status=404, body=b"<html>not here"), "kube/bad-response", False),
        (Reply(body=b"[]"), "kube/bad-response", False),
        (cluster_info("clusters: []"), "kube/bad-kubeconfig", False),
        (cluster_info("{"), "kube/bad-kubeconfig", False),
        (Reply(body=b"x" * (2 << 20)), "kube/bad-response", False),
        (Reply(reset=True), "kube/connection-lost", True),
    ],
)
def test_every_other_answer_is_a_failure(reply: Reply, code: str, transient: bool) -> None:
    with serve(always(reply)) as server:
        error = failing(server.url, Proof(pins=("sha256:" + "0" * 64,)))
    assert (error.code, error.transient) == (code, transient)


def test_an_expired_server_certificate_is_found_out_when_it_counts(authority: CertificateAuthority) -> None:
    expired = Identity(
        common_name=SERVER.common_name, addresses=SERVER.addresses, usages=SERVER.usages, days=-1
    )
    with serve(always(honest(authority)), authority=authority, identity=expired) as server:
        assert failing_now(server.url, Proof(token=TOKEN)).code == "kube/tls-untrusted"


@pytest.mark.parametrize("text", ["", "sha256:", "sha1:" + "0" * 40, "sha256:" + "g" * 64, "0" * 64])
def test_what_is_not_a_hash_is_refused(text: str) -> None:
    with pytest.raises(KubeError) as caught:
        parse_pin(text)
    assert caught.value.code == "kube/ca-unverified"


def test_only_what_is_pinned_is_taken_from_a_bundle(authority: CertificateAuthority) -> None:
    other = create_authority("other")
    bundle = (other.certificate + authority.certificate).decode()
    assert parse_certificates(select_pinned(bundle, [pin_of(authority)])) == parse_certificates(
        authority.certificate.decode()
    )


@settings(deadline=None)
@given(st.text(max_size=60), st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60))
def test_no_signature_but_the_true_one_passes(kubeconfig: str, signature: str) -> None:
    check_signature(kubeconfig, sign(kubeconfig), TOKEN)
    with pytest.raises(KubeError):
        check_signature(kubeconfig, signature, TOKEN)


@settings(deadline=None)
@given(st.text(max_size=40), st.data())
def test_a_changed_text_or_signature_does_not_pass(kubeconfig: str, data: st.DataObject) -> None:
    signature = sign(kubeconfig)
    with pytest.raises(KubeError):
        check_signature(kubeconfig + data.draw(st.text(min_size=1, max_size=3)), signature, TOKEN)
    with pytest.raises(KubeError):
        check_signature(kubeconfig, signature[:-2] + ("AA" if signature[-2:] != "AA" else "BB"), TOKEN)
