"""The configuration is read again when a file of it changed, and only then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flexnode.agent.inputs import Inputs
from flexnode.config import Resolved, load_config
from unit.config.samples import SMALL, TOKEN


class Desk:
    """Files of a configuration, and how often they were read."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "config.json"
        self.reads = 0
        self.inputs = Inputs(load=self._load, path=self.file, image=folder / "image.json")
        self.write(SMALL)

    def write(self, document: object) -> None:
        self.file.write_text(json.dumps(document))
        self.file.chmod(0o600)

    def drop(self, name: str, document: object) -> Path:
        path = self.file.parent / "config.d" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document))
        return path

    def _load(self) -> Resolved:
        self.reads += 1
        return load_config(self.file, image=self.file.with_name("image.json"))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_what_did_not_change_is_not_read_again(desk: Desk) -> None:
    first = desk.inputs.read()
    assert desk.inputs.read() is first
    assert not desk.inputs.stale
    assert desk.inputs.read(again=True) is not first
    assert desk.reads == 2


def test_a_drop_in_changes_the_digest_while_it_is_there(desk: Desk) -> None:
    before = desk.inputs.read()
    drop_in = desk.drop("10-pods.json", {"kubelet": {"maxPods": 42}})
    assert desk.inputs.stale
    with_it = desk.inputs.read()
    assert with_it.digest != before.digest
    assert str(drop_in) in desk.inputs.paths
    drop_in.unlink()
    assert desk.inputs.read().digest == before.digest


def test_another_secret_is_another_stamp_and_the_same_digest(desk: Desk) -> None:
    """What failed for a wrong token is tried again; a node that joined with the old one changes nothing."""
    before = desk.inputs.read()
    desk.write({**SMALL, "auth": {"bootstrapToken": "zzzzzz.0123456789abcdef"}})
    after = desk.inputs.read()
    assert after.digest == before.digest
    assert after.stamp != before.stamp


def test_the_file_that_a_secret_lies_in_is_an_input_too(desk: Desk, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    desk.write({**SMALL, "auth": {"bootstrapToken": {"file": str(secret)}}})
    before = desk.inputs.read()
    assert str(secret) in desk.inputs.paths
    secret.touch(mode=0o600)
    secret.write_text(TOKEN)
    assert desk.inputs.stale
    after = desk.inputs.read()
    assert after.digest == before.digest
    assert after.stamp != before.stamp


def test_an_invalid_configuration_is_a_reading_with_its_reason(desk: Desk) -> None:
    desk.write({**SMALL, "kubelet": {"maxPod": 5}})
    reading = desk.inputs.read()
    assert (reading.digest, reading.resolved) == ("", None)
    assert reading.failure is not None
    assert "maxPod" in reading.failure.message
    assert desk.inputs.read() is reading


def test_permissions_that_were_corrected_are_noticed(desk: Desk) -> None:
    desk.file.chmod(0o644)
    assert desk.inputs.read().failure is not None
    desk.file.chmod(0o600)
    assert desk.inputs.read().failure is None


def test_no_secret_can_be_printed_with_a_reading(desk: Desk) -> None:
    assert TOKEN not in repr(desk.inputs.read())
