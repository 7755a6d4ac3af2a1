"""Which cluster the `cluster` verbs speak to, and through which proxy."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.flows.cluster_access import Access, find_kubeconfig, load_access
from flexnode.flows.cluster_lifetime import parse_ttl
from flexnode.secret import Secret


def write(path: Path, server: str = "https://10.0.0.1:6443", **cluster: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": ""}}],
        "current-context": "x",
    }
    path.write_text(json.dumps(document))
    return path


def test_the_named_file_wins_then_the_environment_then_home(tmp_path: Path) -> None:
    usual = write(tmp_path / ".kube" / "config")
    environ = {"HOME": str(tmp_path), "KUBECONFIG": "/elsewhere"}
    named = tmp_path / "named"
    assert find_kubeconfig(Access(kubeconfig=named, environ=environ)) == named
    assert find_kubeconfig(Access(environ=environ)) == Path("/elsewhere")
    assert find_kubeconfig(Access(environ={"HOME": str(tmp_path)})) == usual


@pytest.mark.parametrize("environ", [{}, {"KUBECONFIG": "/a:/b"}, {"HOME": "/nonexistent"}])
def test_where_no_file_is_meant_clearly_the_user_is_asked_for_one(environ: dict[str, str]) -> None:
    with pytest.raises(FlexError) as caught:
        find_kubeconfig(Access(environ=environ))
    assert "--kubeconfig" in caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, Secret("http://proxy:3128")),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "10.0.0.0/8"}, None),
        ({"HTTP_PROXY": "http://proxy:3128"}, None),
    ],
)
def test_a_proxy_is_used_unless_the_server_is_exempt(
    tmp_path: Path, environ: dict[str, str], proxy: Secret | None
) -> None:
    path = write(tmp_path / "config")
    assert load_access(Access(kubeconfig=path, environ=environ)).proxy == proxy


def test_the_kubeconfig_s_own_proxy_wins(tmp_path: Path) -> None:
    path = write(tmp_path / "config", **{"proxy-url": "http://own:1"})
    environ = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "*"}
    assert load_access(Access(kubeconfig=path, environ=environ)).proxy == Secret("http://own:1")


@pytest.mark.parametrize(
    ("text", "ttl"),
    [
        ("0", None),
        ("30m", timedelta(minutes=30)),
        ("24h", timedelta(hours=24)),
        ("7d", timedelta(days=7)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        (" 90s ", timedelta(seconds=90)),
    ],
)
def test_a_length_of_time_is_understood(text: str, ttl: timedelta | None) -> None:
    assert parse_ttl(text) == ttl


@pytest.mark.parametrize("text", ["", "h", "24", "24 h", "-1h", "1w", "1h-30m", "5s", "9999999d"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(FlexError) as caught:
        parse_ttl(text)
    assert caught.value.exit_code == 2
