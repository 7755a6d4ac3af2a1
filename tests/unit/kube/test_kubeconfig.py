"""Kubeconfigs mean to the product what they mean to kubectl, and what it cannot do it refuses by name."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexlab.pki import create_authority
from flexnode.errors import KubeError
from flexnode.kube import (
    ClientCertificate,
    ClientCertificateFiles,
    Connection,
    TokenFile,
    load_kubeconfig,
    parse_kubeconfig,
)
from flexnode.secret import Secret

CA = create_authority("kubernetes").certificate.decode()
SERVER = "https://10.0.0.1:6443"
TOKEN = "abcdef.0123456789abcdef"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def document(*, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "other", "cluster": {"server": "https://other.example"}},
            {
                "name": "c",
                "cluster": {"server": SERVER, "certificate-authority-data": b64(CA), **(cluster or {})},
            },
        ],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [
            {"name": "main", "context": {"cluster": "c", "user": "u"}},
            {"name": "spare", "context": {"cluster": "other", "user": "u"}},
        ],
        "current-context": "main",
    }


def parse(**parts: Any) -> Connection:
    return parse_kubeconfig(json.dumps(document(**parts)).encode(), folder=Path("/etc/kubernetes"))


def failing(text: bytes, context: str = "") -> KubeError:
    with pytest.raises(KubeError) as caught:
        parse_kubeconfig(text, context)
    assert not caught.value.transient
    return caught.value


def test_the_current_context_is_taken() -> None:
    found = parse()
    assert (found.server, found.ca, found.credential) == (SERVER, CA, None)


def test_another_context_is_taken_when_it_is_named() -> None:
    found = parse_kubeconfig(json.dumps(document()).encode(), "spare")
    assert found.server == "https://other.example"


@pytest.mark.parametrize(
    ("user", "credential"),
    [
        ({"token": TOKEN}, Secret(TOKEN)),
        ({"tokenFile": "/run/token"}, TokenFile(path=Path("/run/token"))),
        ({"token": TOKEN, "tokenFile": "t"}, TokenFile(path=Path("/etc/kubernetes/t"))),
        (
            {"client-certificate": "/pki/a.pem", "client-key": "b.pem"},
            ClientCertificateFiles(certificate=Path("/pki/a.pem"), key=Path("/etc/kubernetes/b.pem")),
        ),
        (
            {"client-certificate-data": b64("CERT"), "client-key-data": b64("KEY")},
            ClientCertificate(certificate="CERT", key=Secret("KEY")),
        ),
    ],
    ids=["token", "token-file", "token-file-wins", "files-relative-to-it", "data"],
)
def test_as_whom_to_come(user: dict[str, Any], credential: object) -> None:
    assert parse(user=user).credential == credential


def test_proxy_and_expected_name_are_heard() -> None:
    found = parse(cluster={"proxy-url": "http://proxy:3128", "tls-server-name": "kubernetes"})
    assert found.proxy == Secret("http://proxy:3128")
    assert found.server_name == "kubernetes"


@pytest.mark.parametrize(
    "url", ["socks5://u:hunter2@proxy:1080", "proxy:3128", "http://u:hun/ter2@proxy", "http://"]
)
def test_a_proxy_of_another_kind_is_refused_without_its_password(url: str) -> None:
    error = failing(json.dumps(document(cluster={"proxy-url": url})).encode())
    assert error.code == "kube/kubeconfig-unsupported"
    assert "http://HOST:PORT" in error.hint
    assert "ter2" not in f"{error.message} {error.hint}"


def test_yaml_is_read_as_well_and_files_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text(CA)
    path = tmp_path / "config"
    path.write_text(
        f"""
apiVersion: v1
clusters:
- cluster: {{server: "{SERVER}/", certificate-authority: ca.crt}}
  name: c
contexts:
- context: {{cluster: c, user: u}}
  name: main
current-context: main
preferences: {{}}
users:
- name: u
  user: {{token: {TOKEN}}}
"""
    )
    found = load_kubeconfig(path)
    assert found == Connection(server=SERVER, ca=CA, credential=Secret(TOKEN))


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ({"exec": {"command": "kubelogin"}}, "exec"),
        ({"auth-provider": {"name": "azure"}}, "auth-provider"),
        ({"username": "admin", "password": "x"}, "password"),
        ({"token": TOKEN, "as": "somebody"}, "act as"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(user: dict[str, Any], words: str) -> None:
    """To pass over it would mean to come as somebody else than the user asked for."""
    error = failing(json.dumps(document(user=user)).encode())
    assert error.code == "kube/kubeconfig-unsupported"
    assert words in error.message


def test_an_unverified_server_is_refused() -> None:
    error = failing(json.dumps(document(cluster={"insecure-skip-tls-verify": True})).encode())
    assert error.code == "kube/kubeconfig-unsupported"
    assert "certificate-authority-data" in error.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "not a kubeconfig"),
        (b"[]", "not a kubeconfig"),
        (b"{}", "no current context"),
        (b"a: [b", "neither JSON nor YAML"),
        (b'{"current-context": "x"}', "no context 'x'"),
        (b'{"current-context": 3}', "current-context"),
        (json.dumps(document(cluster={"certificate-authority-data": "%"})).encode(), "base64"),
        (json.dumps(document(user={"client-certificate": "/a"})).encode(), "without a key"),
    ],
)
def test_what_is_wrong_is_said(text: bytes, words: str) -> None:
    error = failing(text)
    assert error.code == "kube/bad-kubeconfig"
    assert words in error.message


def test_a_context_that_does_not_exist_is_told_with_those_that_do() -> None:
    assert "main, spare" in failing(json.dumps(document()).encode(), "mian").message


def test_a_broken_file_is_not_quoted() -> None:
    text = f"users:\n- user: {{token: {TOKEN}\n  x: ]".encode()
    error = failing(text)
    assert "line" in error.message
    assert TOKEN not in f"{error} {error.__cause__}"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KubeError) as caught:
        load_kubeconfig(tmp_path / "none")
    assert str(tmp_path / "none") in caught.value.message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["clusters", "users", "contexts", "name", "cluster", "user"]), inner
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(json_values)
def test_no_document_is_a_crash(value: Any) -> None:
    with pytest.raises(KubeError):
        parse_kubeconfig(json.dumps(value).encode())
