"""A secret is read when it is needed, from where the user put it, and is in nothing that is shown."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from flexnode.config.decode import decode_layer
from flexnode.config.layers import Layer
from flexnode.config.render import make_document, make_origins, render_json, render_origins, render_yaml
from flexnode.config.resolve import Resolved, resolve
from flexnode.errors import ConfigError
from flexnode.model.credentials import ServicePrincipal
from flexnode.secret import Secret
from unit.config.samples import CLIENT_SECRET, GUID, TOKEN, resolve_documents, small, with_value

PASSWORD = "pass-word"


def with_token(value: object, environ: dict[str, str] | None = None) -> Resolved:
    document = with_value(("auth", "bootstrapToken"), value)
    return resolve([decode_layer(Layer(origin="a", data=document))], environ=environ)


def token_of(resolved: Resolved) -> Secret:
    token = resolved.spec.credentials.bootstrap_token
    assert token is not None
    return token


def test_a_secret_in_a_file_is_read_when_it_is_revealed(tmp_path: Path) -> None:
    """A token that was renewed meanwhile is the one that counts."""
    path = tmp_path / "token"
    token = token_of(with_token({"file": str(path)}))
    for text, end in ((TOKEN, ""), (TOKEN, "\n"), ("zzzzzz.0123456789abcdef", "\r\n")):
        path.write_bytes((text + end).encode())
        assert token.reveal() == text


def test_a_systemd_credential_is_read(tmp_path: Path) -> None:
    (tmp_path / "join").write_text(TOKEN)
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path), "OTHER": "x"}
    resolved = with_token({"credential": "join"}, environ)
    assert token_of(resolved).reveal() == TOKEN
    assert resolved.environ == {"CREDENTIALS_DIRECTORY": str(tmp_path)}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "config/secret-unreadable"),
        (b"", "config/secret-invalid"),
        (b"not a token", "config/secret-invalid"),
        (b"\xff\xfe", "config/secret-invalid"),
        (TOKEN.encode() + b"\n# a comment", "config/secret-invalid"),
        (b"x" * (1 << 17), "config/secret-invalid"),
    ],
    ids=range(6),
)
def test_a_file_that_does_not_hold_the_secret_is_told(
    content: bytes | None, code: str, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    token = token_of(with_token({"file": str(path)}))
    with pytest.raises(ConfigError) as raised:
        token.reveal()
    assert raised.value.code == code
    assert str(path) in raised.value.message
    assert raised.value.hint
    assert TOKEN not in raised.value.message


def test_a_credential_outside_of_systemd_is_explained() -> None:
    with pytest.raises(ConfigError, match="systemd gave this process no credentials") as raised:
        token_of(with_token({"credential": "join"})).reveal()
    assert "LoadCredential=join:PATH" in raised.value.hint


@pytest.mark.parametrize("name", ["../join", "a/b", "", ".hidden"])
def test_a_credential_stays_in_its_directory(name: str) -> None:
    report = decode_layer(
        Layer(origin="a", data=with_value(("auth", "bootstrapToken"), {"credential": name}))
    )
    (problem,) = report.problems
    assert problem.path == ("auth", "bootstrapToken", "credential")


def test_references_are_equal_by_their_place(tmp_path: Path) -> None:
    """A daemon that compares configurations must not see a change where there is none."""
    one, same, other = (token_of(with_token({"file": f"/{name}"})) for name in "aab")
    assert one == same != other
    assert hash(one) == hash(same)


SECRETS = small(
    auth={
        "bootstrapToken": TOKEN,
        "servicePrincipal": {
            "tenantId": GUID.format(1),
            "clientId": GUID.format(2),
            "clientSecret": CLIENT_SECRET,
        },
    },
    proxy={"http": f"http://me:{PASSWORD}@proxy:3128", "https": "http://proxy:3129"},
    artifacts={"sources": [f"https://me:{PASSWORD}@mirror.example.com/x", "vendor"]},
)


def test_a_password_makes_a_proxy_a_credential() -> None:
    spec = resolve_documents(SECRETS).spec
    assert (spec.machine.proxy.http, spec.machine.proxy.https) == ("", "http://proxy:3129")
    assert spec.credentials.http_proxy == Secret(f"http://me:{PASSWORD}@proxy:3128")
    assert spec.credentials.https_proxy is None
    assert spec.artifacts.sources[0] == f"https://me:{PASSWORD}@mirror.example.com/x"


def test_a_proxy_may_be_a_reference(tmp_path: Path) -> None:
    path = tmp_path / "proxy"
    path.write_text(f"http://me:{PASSWORD}@proxy:3128\n")
    spec = resolve_documents(small(proxy={"http": {"file": str(path)}})).spec
    assert spec.machine.proxy.http == ""
    assert spec.credentials.http_proxy is not None
    assert spec.credentials.http_proxy.reveal() == f"http://me:{PASSWORD}@proxy:3128"


def texts_of(resolved: Resolved) -> list[str]:
    return [
        render_yaml(make_document(resolved.data)),
        render_json(make_document(resolved.data)),
        render_json(make_origins(resolved)),
        render_origins(resolved),
        repr(resolved.data),
        repr(resolved.provenance),
        repr(resolved.spec.credentials),
        str(resolved.spec.machine),
        repr(Layer(origin="a", data=SECRETS)),
        repr(resolved.layers),
    ]


def test_nothing_that_is_shown_holds_a_secret() -> None:
    for text in texts_of(
        resolve_documents(SECRETS, small(auth={"bootstrapToken": "zzzzzz.0123456789abcdef"}))
    ):
        for secret in (TOKEN, CLIENT_SECRET, PASSWORD):
            assert secret not in text


def test_what_may_be_shown_of_a_secret_is() -> None:
    document = make_document(resolve_documents(SECRETS).data)
    assert document["proxy"]["http"] == "http://‹redacted›@proxy:3128"  # noqa: RUF001
    assert document["artifacts"]["sources"][0] == "https://‹redacted›@mirror.example.com/x"  # noqa: RUF001
    reference: Any = {"file": "/etc/token"}
    assert make_document(with_token(reference).data)["auth"]["bootstrapToken"] == reference


def test_a_resolved_configuration_cannot_be_serialized_with_its_secrets() -> None:
    principal = resolve_documents(SECRETS).spec.credentials.azure
    assert isinstance(principal, ServicePrincipal)
    with pytest.raises(TypeError):
        pickle.dumps(principal.client_secret)
