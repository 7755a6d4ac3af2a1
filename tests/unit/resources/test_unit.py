"""systemd units where starting and stopping them is not all there is to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.host.fake import FakeHost
from flexnode.resources.state import Absent, Unit
from unit.resources.samples import manage

FILE = "/etc/systemd/system/thing.service"
INSTALL = b"[Install]\nWantedBy=multi-user.target\n"
RUNNING = Unit(enabled=True, active=True)


def test_systemd_is_not_told_to_read_its_files_when_none_changed(tmp_path: Path) -> None:
    host = FakeHost()
    host.files.write(FILE, INSTALL, mode=0o644)
    host.writes.clear()
    manage(host, "unit:thing.service", RUNNING, tmp_path).converge()
    assert host.writes == ["enable thing.service", "start thing.service"]


def test_systemd_reads_a_changed_file_before_it_starts_the_unit(tmp_path: Path) -> None:
    host = FakeHost()
    host.files.write(FILE, INSTALL, mode=0o644)
    managed = manage(host, "unit:thing.service", RUNNING, tmp_path)
    managed.converge()
    host.units.stop("thing.service")
    host.files.write(FILE, INSTALL + b"[Service]\n", mode=0o644)
    host.writes.clear()
    managed.converge()
    assert host.writes == ["reload systemd", "start thing.service"]


def test_a_unit_without_a_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    host = FakeHost()
    with pytest.raises(FlexError, match=r"thing\.service") as caught:
        manage(host, "unit:thing.service", RUNNING, tmp_path).converge()
    assert caught.value.code == "unit/missing"
    assert host.writes == []


def test_a_failed_unit_is_not_taken_for_a_running_one(tmp_path: Path) -> None:
    host = FakeHost()
    host.units.place("thing.service", enabled=True, active=True)
    host.units.crash("thing.service", restarted=False)
    managed = manage(host, "unit:thing.service", RUNNING, tmp_path)
    assert managed.find() == Unit(enabled=True, active=False)
    managed.converge()
    assert managed.find() == RUNNING


def test_a_unit_that_does_not_start_is_an_error_and_not_as_wanted(tmp_path: Path) -> None:
    host = FakeHost()
    host.units.place("thing.service")
    host.units.failing.add("thing.service")
    managed = manage(host, "unit:thing.service", RUNNING, tmp_path)
    with pytest.raises(FlexError) as caught:
        managed.converge()
    assert caught.value.code == "host/unit-failed"
    assert not managed.is_as_wanted()


def test_a_unit_without_an_install_section_is_as_enabled_as_it_can_be(tmp_path: Path) -> None:
    host = FakeHost()
    host.units.place("thing.service", "[Unit]\n")
    managed = manage(host, "unit:thing.service", RUNNING, tmp_path)
    managed.converge()
    assert managed.is_as_wanted()
    assert not managed.is_as_wanted(Unit(active=False))


def test_in_an_image_units_are_enabled_and_none_is_started(tmp_path: Path) -> None:
    host = FakeHost(running=False)
    host.units.place("thing.service")
    managed = manage(host, "unit:thing.service", RUNNING, tmp_path)
    managed.converge()
    assert host.writes == ["enable thing.service"]
    assert managed.is_as_wanted()


def test_an_unmasked_unit_is_masked_again_as_enabled_as_it_was_below_the_mask(tmp_path: Path) -> None:
    host = FakeHost()
    host.units.place("thing.service")
    host.units.mask("thing.service")
    before = host.snapshot(times=True)
    managed = manage(host, "unit:thing.service", RUNNING, tmp_path)
    found = managed.converge()
    assert managed.find() == RUNNING
    assert found is not None
    managed.undo(found)
    assert host.snapshot(times=True) == before


def test_a_unit_whose_file_came_with_the_node_is_stopped_and_disabled_before_the_file_goes(
    tmp_path: Path,
) -> None:
    host = FakeHost()
    managed = manage(host, "unit:thing.service", RUNNING, tmp_path)
    assert managed.find() == Absent()
    before = host.snapshot()
    host.files.write(FILE, INSTALL, mode=0o644)
    managed.converge()
    managed.undo(Absent())
    host.files.remove(FILE)
    assert host.snapshot() | {"files": {}} == before | {"files": {}}
    wants = "/etc/systemd/system/multi-user.target.wants"
    assert "thing.service" not in host.files.list(wants)


def test_instances_of_a_template_have_the_templates_file(tmp_path: Path) -> None:
    host = FakeHost()
    host.files.write("/etc/systemd/system/thing@.service", INSTALL, mode=0o644)
    managed = manage(host, "unit:thing@one.service", RUNNING, tmp_path)
    managed.converge()
    assert managed.find() == RUNNING
