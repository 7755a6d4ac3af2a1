"""A bundle is handed to strangers: nothing secret is in it, wherever it stood."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from flexnode.clock import FakeClock
from flexnode.config import Resolved, load_config
from flexnode.errors import StateError
from flexnode.flows.redact import Redactor, find_named
from flexnode.flows.support import COMMANDS, Collector
from flexnode.generation import StateDirectory
from flexnode.host.command import Completed
from flexnode.host.fake import FakeHost
from unit.config.samples import CLIENT_SECRET, CLUSTER_ID, SMALL, TOKEN

PASSWORD = "pr0xy-passw0rd"
OTHER_TOKEN = "fedcba.fedcba9876543210"
WEB_TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJub2RlIn0.c2lnbmF0dXJl"
KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIrYSSNQFaA2\n-----END EC PRIVATE KEY-----"
SIGNATURE = "c2ln%2Bbm90LXRvLWJlLXNob3du"
SECRETS = (
    TOKEN,
    CLIENT_SECRET,
    PASSWORD,
    OTHER_TOKEN,
    WEB_TOKEN.partition(".")[2],
    "MHcCAQEEIIrYSSNQFaA2",
    SIGNATURE,
)
"""Those that the configuration knows, and those that nobody knows of."""

LEAKS = "\n".join(
    [
        f"level=debug msg=using {TOKEN} to join",
        f"the client said {CLIENT_SECRET} twice: {CLIENT_SECRET}",
        f"proxy http://me:{PASSWORD}@proxy.example:3128 refused; its password {PASSWORD} is wrong",
        f"a person tried kubeadm join --token {OTHER_TOKEN}",
        f"Authorization: Bearer {WEB_TOKEN}",
        f"id {WEB_TOKEN}",
        KEY,
        f"GET https://blob.example/x?sv=2024&sig={SIGNATURE}",
        f'{{"client_secret": "{CLIENT_SECRET}", "kept": "this word"}}',
    ]
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "etc" / "config.json"
    file.parent.mkdir()
    document: dict[str, Any] = {
        **SMALL,
        "auth": {
            "bootstrapToken": TOKEN,
            "servicePrincipal": {
                "tenantId": "00000000-0000-0000-0000-000000000001",
                "clientId": "00000000-0000-0000-0000-000000000002",
                "clientSecret": CLIENT_SECRET,
            },
        },
        "azure": {"cluster": {"resourceId": CLUSTER_ID}},
        "proxy": {"http": f"http://me:{PASSWORD}@proxy.example:3128"},
    }
    file.write_text(json.dumps(document))
    file.chmod(0o600)
    return file


@pytest.fixture
def collector(tmp_path: Path, config: Path) -> Collector:
    """Secrets in every file and every answer."""
    host = FakeHost()
    for argv in COMMANDS.values():
        host.answers[argv] = Completed(returncode=1, stdout=LEAKS.encode(), stderr=LEAKS.encode())
    directory = StateDirectory(root=tmp_path / "state")
    logs, run = tmp_path / "logs", tmp_path / "run"
    for folder in (directory.generations, logs, run):
        folder.mkdir(parents=True)
    for path in (
        directory.state,
        directory.journal,
        directory.root / "provision.json",
        directory.root / "events.jsonl",
        directory.generations / "0123.json",
        logs / "aks-flex-node.log",
        run / "status.json",
    ):
        path.write_text(LEAKS)

    def load() -> Resolved:
        return load_config(config, image=tmp_path / "none", complete=False)

    return Collector(
        host=host,
        clock=FakeClock(),
        load=load,
        config=config.parent,
        directory=directory,
        run=run,
        logs=logs,
    )


def unpack(target: Path) -> dict[str, str]:
    with tarfile.open(target) as archive:
        return {
            entry.name.partition("/")[2]: archive.extractfile(entry).read().decode()  # type: ignore[union-attr]
            for entry in archive
        }


def test_no_secret_is_in_it_wherever_it_stood(collector: Collector, tmp_path: Path) -> None:
    collector.write(tmp_path / "bundle.tar.gz")
    found = unpack(tmp_path / "bundle.tar.gz")
    assert len(found) >= 10 + len(COMMANDS)
    for name, text in found.items():
        assert [secret for secret in SECRETS if secret in text] == [], name
    assert "this word" in found["commands/df.txt"]
    assert "to join" in found["files/journal"]


def test_what_only_the_configuration_knows_is_known_though_it_is_broken(
    collector: Collector, config: Path, tmp_path: Path
) -> None:
    config.write_text(config.read_text()[:-1] + ', "kubelet": {"maxPod": 5}}')
    collector.write(tmp_path / "bundle.tar.gz")
    found = unpack(tmp_path / "bundle.tar.gz")
    assert "maxPod" in found["config.txt"]
    for name, text in found.items():
        assert [secret for secret in SECRETS if secret in text] == [], name


def test_it_tells_the_configuration_with_its_origins_and_the_machine(
    collector: Collector, tmp_path: Path
) -> None:
    names = collector.write(tmp_path / "bundle.tar.gz")
    found = unpack(tmp_path / "bundle.tar.gz")
    assert tuple(found) == names
    assert json.loads(found["config.json"])["cluster"]["server"] == SMALL["cluster"]["server"]
    assert json.loads(found["facts.json"])["os_id"] == "debian"
    assert "files/generations/0123.json" in found
    assert "files/status.json" in found
    assert found["commands/journal-kubelet.txt"].startswith("$ journalctl --no-pager --unit kubelet.service")


def test_only_its_owner_can_read_it(collector: Collector, tmp_path: Path) -> None:
    collector.write(tmp_path / "bundle.tar.gz")
    assert (tmp_path / "bundle.tar.gz").stat().st_mode & 0o777 == 0o600


def test_on_an_empty_machine_it_says_what_is_not_there(tmp_path: Path) -> None:
    collector = Collector(
        host=FakeHost(),
        clock=FakeClock(),
        load=lambda: load_config(tmp_path / "none.json"),
        config=tmp_path / "none",
        directory=StateDirectory(root=tmp_path / "nothing"),
        run=tmp_path / "nothing",
        logs=tmp_path / "no-logs",
    )
    collector.write(tmp_path / "bundle.tar.gz")
    found = unpack(tmp_path / "bundle.tar.gz")
    assert "does not exist" in found["config.txt"]
    assert "No such file" in found["files/provision.json"]
    assert "was not found" in found["commands/uname.txt"]


def test_a_file_that_is_there_is_not_overwritten(collector: Collector, tmp_path: Path) -> None:
    target = tmp_path / "bundle.tar.gz"
    target.write_text("mine")
    with pytest.raises(StateError) as caught:
        collector.write(target)
    assert caught.value.code == "bundle/not-written"
    assert target.read_text() == "mine"


@pytest.mark.parametrize(
    "text",
    [
        "kubelet v1.34.4 started, took 12.345678s",
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "https://mirror.example/path?x=1#y",
        "token is valid; the secret of a long life",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ],
)
def test_what_is_no_secret_stays_readable(text: str) -> None:
    assert Redactor().clean(text) == text


def test_a_key_whose_beginning_was_cut_off_is_taken_out() -> None:
    assert "SSNQ" not in Redactor().clean("YSSNQFaA2\nabc=\n-----END PRIVATE KEY-----\nkept")


def test_a_longer_secret_is_taken_out_before_one_that_it_begins_with() -> None:
    assert "tail" not in Redactor(["head", "headtail"]).clean("x headtail y")


def test_values_of_secret_names_are_found_in_any_document() -> None:
    text = '{"clientSecret": "aaaa1", "x": "bbbb"}\npassword: cccc3\n'
    assert list(find_named(text)) == ["aaaa1", "cccc3"]
