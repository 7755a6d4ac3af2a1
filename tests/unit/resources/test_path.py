"""Files, links and directories where more lies than they expect."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from flexnode.errors import FlexError
from flexnode.host.door import FileKind
from flexnode.host.fake import FakeHost
from flexnode.resources.path import real_path
from flexnode.resources.state import Absent, Blob, Directory, File, Link, Secret, State, Text
from unit.resources.samples import Managed, manage, sha256


@pytest.fixture
def host() -> FakeHost:
    host = FakeHost()
    host.files.place_directory("/etc/node")
    return host


def refusal(managed: Managed) -> FlexError:
    with pytest.raises(FlexError) as caught:
        managed.converge()
    return caught.value


@pytest.mark.parametrize(
    ("key", "want"),
    [("file:/etc/node", File(content=Text(text="x"))), ("link:/etc/node", Link(target="x"))],
)
def test_a_directory_with_something_in_it_is_never_replaced(
    host: FakeHost, key: str, want: State, tmp_path: Path
) -> None:
    host.files.place("/etc/node/theirs", "precious")
    host.writes.clear()
    error = refusal(manage(host, key, want, tmp_path))
    assert (error.code, error.transient) == ("file/in-the-way", False)
    assert "/etc/node" in error.hint
    assert host.writes == []


def test_an_empty_directory_that_is_a_mount_point_is_in_the_way_too(host: FakeHost, tmp_path: Path) -> None:
    host.files.mounts.add("/etc/node")
    error = refusal(manage(host, "file:/etc/node", File(content=Text(text="x")), tmp_path))
    assert error.code == "file/in-the-way"


def test_a_device_in_the_place_of_a_file_is_refused_because_it_could_not_be_put_back(
    host: FakeHost, tmp_path: Path
) -> None:
    host.files.place("/etc/node/thing")
    host.files.nodes["/etc/node/thing"].kind = FileKind.OTHER
    managed = manage(host, "file:/etc/node/thing", File(content=Text(text="x")), tmp_path)
    assert refusal(managed).code == "file/in-the-way"
    assert host.files.nodes["/etc/node/thing"].kind is FileKind.OTHER


def test_a_missing_parent_is_an_error_and_not_made_by_the_way(host: FakeHost, tmp_path: Path) -> None:
    managed = manage(host, "file:/etc/no/thing", File(content=Text(text="x")), tmp_path)
    assert refusal(managed).code == "host/no-such-file"
    assert host.files.find("/etc/no") is None


def test_the_users_bytes_are_kept_before_they_are_replaced(host: FakeHost, tmp_path: Path) -> None:
    host.files.place("/etc/node/thing", "mine")
    managed = manage(host, "file:/etc/node/thing", File(content=Text(text="ours")), tmp_path)
    assert managed.converge() is not None
    assert managed.contents.kept == [sha256(b"mine")]


def test_a_file_that_changes_while_it_is_preserved_is_not_replaced(host: FakeHost, tmp_path: Path) -> None:
    host.files.place("/etc/node/thing", "mine")
    managed = manage(host, "file:/etc/node/thing", File(content=Text(text="ours")), tmp_path)
    found = managed.find()
    host.files.place("/etc/node/thing", "mine, edited just now")
    with pytest.raises(FlexError) as caught:
        managed.handler.preserve(host, managed.name, found, managed.contents)
    assert (caught.value.code, caught.value.transient) == ("file/changed-meanwhile", True)


def test_a_credential_is_in_the_file_and_in_no_state(host: FakeHost, tmp_path: Path) -> None:
    want = File(content=Secret(template="token: {{token}}", names=("token",)), mode=0o600)
    managed = manage(host, "file:/etc/node/thing", want, tmp_path)
    managed.converge()
    token = managed.contents.secrets["token"]
    assert host.files.read("/etc/node/thing") == f"token: {token}".encode()
    assert token not in msgspec.json.encode([want, managed.find()]).decode()


def test_a_changed_credential_is_noticed(host: FakeHost, tmp_path: Path) -> None:
    want = File(content=Secret(template="{{token}}", names=("token",)), mode=0o600)
    managed = manage(host, "file:/etc/node/thing", want, tmp_path)
    managed.converge()
    managed.contents.secrets["token"] = "fedcba.fedcba9876543210"
    assert not managed.is_as_wanted()


def test_times_and_attributes_count_only_where_they_are_put_back(host: FakeHost, tmp_path: Path) -> None:
    host.files.place("/etc/node/thing", "same", xattrs={"user.a": b"1"})
    managed = manage(host, "file:/etc/node/thing", File(content=Text(text="same")), tmp_path)
    assert managed.is_as_wanted()
    earlier = File(content=Blob(sha256=sha256(b"same")), xattrs={"user.a": b"2"}, mtime_ns=1)
    assert not managed.is_as_wanted(earlier)
    managed.contents.stage(b"same")
    managed.undo(earlier)
    assert managed.is_as_wanted(earlier)


def test_what_others_put_into_a_directory_stays_and_the_directory_with_it(
    host: FakeHost, tmp_path: Path
) -> None:
    managed = manage(host, "directory:/etc/node/ours", Directory(), tmp_path)
    managed.converge()
    host.files.place("/etc/node/ours/theirs", "precious")
    managed.undo(Absent())
    assert host.files.read("/etc/node/ours/theirs") == b"precious"


def test_a_directory_that_somebody_mounted_on_stays(host: FakeHost, tmp_path: Path) -> None:
    managed = manage(host, "directory:/etc/node/ours", Directory(), tmp_path)
    managed.converge()
    host.files.mounts.add("/etc/node/ours")
    managed.undo(Absent())
    assert host.files.find("/etc/node/ours") is not None


def test_what_replaced_a_directory_of_ours_is_not_removed_with_it(host: FakeHost, tmp_path: Path) -> None:
    managed = manage(host, "directory:/etc/node/ours", Directory(), tmp_path)
    managed.converge()
    host.files.remove("/etc/node/ours")
    host.files.place_directory("/srv/data")
    host.files.place_link("/etc/node/ours", "/srv/data")
    managed.undo(Absent())
    assert host.files.find("/etc/node/ours") is not None
    assert host.files.find("/srv/data") is not None


def test_a_link_that_led_nowhere_is_put_back_even_if_it_leads_somewhere_by_then(
    host: FakeHost, tmp_path: Path
) -> None:
    host.files.place_link("/etc/node/thing", "/srv/later")
    managed = manage(host, "directory:/etc/node/thing", Directory(), tmp_path)
    before = managed.converge()
    assert before == Link(target="/srv/later")
    host.files.place_directory("/srv/later")
    managed.undo(before)
    assert managed.is_as_wanted(before)
    assert host.files.find("/srv/later") is not None


def test_a_link_to_another_disk_goes_on_to_lead_there(host: FakeHost, tmp_path: Path) -> None:
    """Users move /opt that way; an empty directory in its place would hide all that they have there."""
    host.files.place("/srv/disk/opt/their/program", "precious")
    host.files.nodes.pop("/opt")
    host.files.place_link("/opt", "/srv/disk/opt")
    managed = manage(host, "directory:/opt", Directory(mode=0o711), tmp_path)
    managed.converge()
    assert host.files.read("/opt/their/program") == b"precious"
    info = host.files.find("/srv/disk/opt")
    assert info is not None
    assert info.mode == 0o711


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("/", "/"),
        ("/etc/hosts", "/etc/hosts"),
        ("/var/run/containerd", "/run/containerd"),
        ("/etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf"),
        ("//lib/./systemd/../systemd", "/usr/lib/systemd"),
        ("/../etc", "/etc"),
        ("/nowhere/at/all", "/nowhere/at/all"),
    ],
)
def test_links_are_followed_as_the_kernel_does(host: FakeHost, path: str, real: str) -> None:
    assert real_path(host.files, path) == real


def test_links_in_circles_are_an_error_and_no_hang(host: FakeHost) -> None:
    host.files.place_link("/etc/a", "b")
    host.files.place_link("/etc/b", "a")
    with pytest.raises(FlexError, match="circles"):
        real_path(host.files, "/etc/a")
