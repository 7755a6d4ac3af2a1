"""Images, while the runtime is up, down, or not there at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.host.fake import FakeHost
from flexnode.resources.state import Absent, Image
from unit.resources.samples import Managed, manage

PAUSE = "registry.k8s.io/pause:3.10"


def make(host: FakeHost, folder: Path, *references: str) -> Managed:
    """The pause image, in an archive that holds `references`."""
    host.units.place("containerd.service")
    managed = manage(host, f"image:{PAUSE}", Absent(), folder)
    digest = managed.contents.stage(b"archive")
    host.runtime.references[digest] = references
    managed.want = Image(archive=digest)
    return managed


def test_while_the_runtime_is_down_no_image_is_there_and_none_can_be_imported(tmp_path: Path) -> None:
    host = FakeHost()
    managed = make(host, tmp_path, PAUSE)
    assert managed.find() == Absent()
    with pytest.raises(FlexError) as caught:
        managed.converge()
    assert caught.value.transient
    host.units.start("containerd.service")
    managed.converge()
    assert managed.find() == managed.want


def test_leaving_does_not_wait_for_a_runtime_that_is_gone(tmp_path: Path) -> None:
    assert make(FakeHost(), tmp_path, PAUSE).is_as_wanted(Absent())


def test_an_archive_with_another_image_is_an_error_and_not_imported_forever(tmp_path: Path) -> None:
    host = FakeHost()
    managed = make(host, tmp_path, "registry.k8s.io/pause:3.9")
    host.units.start("containerd.service")
    with pytest.raises(FlexError, match=r"pause:3\.10") as caught:
        managed.converge()
    assert (caught.value.code, caught.value.transient) == ("image/not-in-archive", False)


def test_an_image_that_the_user_had_stays(tmp_path: Path) -> None:
    host = FakeHost()
    managed = make(host, tmp_path, PAUSE)
    host.units.start("containerd.service")
    host.runtime.stored.add(PAUSE)
    host.writes.clear()
    assert managed.converge() is None
    managed.undo(managed.find(Absent()))
    assert PAUSE in host.runtime.images()
    assert host.writes == []


def test_a_disk_image_in_the_making_imports_nothing(tmp_path: Path) -> None:
    host = FakeHost(running=False)
    managed = make(host, tmp_path, PAUSE)
    assert managed.is_as_wanted()
    managed.handler.put(host, managed.name, managed.want, managed.contents)
    assert host.writes == []
