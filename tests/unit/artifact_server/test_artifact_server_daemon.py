"""The server as a process of its own, the way a lab runs it."""

from __future__ import annotations

import http.client
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from flexlab.artifact_server import NotFound, Stall, write_faults
from flexlab.pki import Identity, Usage, create_authority

MODULE = (sys.executable, "-m", "flexlab.artifact_server")
DIGEST = "ab" * 32


@contextmanager
def daemon(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The running daemon, and the addresses that it says it serves."""
    ports = sum(argument in ("--http", "--https") for argument in arguments)
    with subprocess.Popen((*MODULE, *arguments), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            lines = [process.stderr.readline() for _ in range(ports)]
            yield process, [line.split("://")[1].strip() for line in lines]
        finally:
            process.kill()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "store" / "sha256").mkdir(parents=True)
    (tmp_path / "store" / "sha256" / DIGEST).write_bytes(b"content" * 1000)
    return tmp_path / "store"


def test_faults_are_switched_live_on_both_ports_and_a_signal_ends_it_at_once(
    store: Path, tmp_path: Path
) -> None:
    authority = create_authority("lab")
    authority.pair.write(tmp_path, "ca")
    files = authority.issue(
        Identity(common_name="x", addresses=(IPv4Address("127.0.0.1"),), usages=(Usage.SERVER,))
    ).write(tmp_path, "server")
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    faults = tmp_path / "faults.json"
    encrypted = ("--https", "127.0.0.1:0", "--cert", str(files.certificate), "--key", str(files.key))
    plain = ("--store", str(store), "--faults", str(faults), "--http", "127.0.0.1:0")
    with (
        daemon(*plain, *encrypted, "--authority", str(tmp_path)) as (process, addresses),
        closing(http.client.HTTPConnection(addresses[0], timeout=10)) as http_connection,
        closing(http.client.HTTPSConnection(addresses[1], timeout=10, context=context)) as https_connection,
    ):
        for fault, status in ((None, 200), (NotFound(), 404), (None, 200)):
            write_faults(faults, [fault] if fault else [])
            for connection in (http_connection, https_connection):
                connection.request("GET", f"/sha256/{DIGEST}")
                response = connection.getresponse()
                response.read()
                assert response.status == status
        write_faults(faults, [Stall(after=1)])
        http_connection.request("GET", f"/sha256/{DIGEST}")
        assert http_connection.getresponse().read(1) == b"c"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=3) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--store"),
        (("--store", "x"), "give --http, --https, or both"),
        (("--store", "x", "--https", "127.0.0.1:0"), "--https needs --cert and --key"),
        (("--store", "x", "--http", "8080"), "HOST:PORT"),
    ],
)
def test_wrong_usage_says_what_is_missing(arguments: tuple[str, ...], message: str) -> None:
    done = subprocess.run((*MODULE, *arguments), capture_output=True, text=True, check=False)
    assert (done.returncode, message in done.stderr) == (2, True)


def test_a_port_that_is_taken_is_an_error_that_says_so(store: Path) -> None:
    with daemon("--store", str(store), "--http", "127.0.0.1:0") as (_, addresses):
        done = subprocess.run(
            (*MODULE, "--store", str(store), "--http", addresses[0]),
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    assert done.returncode == 1
    assert "Address already in use" in done.stderr
