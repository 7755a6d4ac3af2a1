"""A look at a machine asks systemd once, and what it remembers is never older than what it was told to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from flexnode.errors import FlexError
from flexnode.host import Command, door
from flexnode.host.door import Host, Units
from flexnode.host.fake import FakeHost
from flexnode.host.glance import Glance
from flexnode.host.systemd import Systemd
from unit.host.programs import Programs, fails, says

UNIT = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
ANSWER = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nInvocationID=1\n"


@pytest.fixture
def host() -> FakeHost:
    host = FakeHost()
    for name in ("a", "b", "c"):
        host.files.place(f"/etc/systemd/system/{name}.service", UNIT)
    host.units.reload_manager()
    return host


def test_the_first_question_asks_for_all_units_at_once(host: FakeHost) -> None:
    programs = Programs({"show": [says("\n".join([ANSWER] * 3)), says(ANSWER)]})
    host.units = Systemd(run=programs.run)  # type: ignore[assignment]
    glance = Glance(host, ("a.service", "b.service", "c.service", "a.service"))
    assert programs.commands == []
    for _ in range(2):
        assert glance.units.find("b.service").active
        assert set(glance.units.find_all(("c.service", "a.service"))) == {"a.service", "c.service"}
    assert len(programs.commands) == 1
    assert glance.units.find("other.service").active  # one that nobody expected
    asked = [
        tuple(word for word in command.argv if word.endswith(".service")) for command in programs.commands
    ]
    assert asked == [("b.service", "a.service", "c.service"), ("other.service",)]


CHANGES: list[Callable[[Units], None]] = [
    lambda units: units.start("a.service"),
    lambda units: units.stop("a.service"),
    lambda units: units.restart("a.service"),
    lambda units: units.reload("a.service"),
    lambda units: units.reboot(),
    lambda units: units.enable("a.service"),
    lambda units: units.disable("a.service"),
    lambda units: units.mask("systemd-timesyncd.service"),
    lambda units: units.unmask("a.service"),
    lambda units: units.reload_manager(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_is_told_reaches_the_units_and_is_seen(
    host: FakeHost, change: Callable[[Units], None]
) -> None:
    host.units.start("a.service")
    other = FakeHost()
    for name in ("a", "b", "c"):
        other.files.place(f"/etc/systemd/system/{name}.service", UNIT)
    other.units.reload_manager()
    other.units.start("a.service")
    names = ("a.service", "systemd-timesyncd.service")
    glance = Glance(host, names)
    glance.units.find("a.service")
    change(glance.units)
    change(other.units)
    assert host.snapshot() == other.snapshot()
    assert glance.units.find_all(names) == host.units.find_all(names)


def test_a_program_is_run_once_and_one_that_failed_again(host: FakeHost) -> None:
    programs = Programs({"df": [fails("busy"), says("10%")], "cat": [says("a"), says("b")]})
    host.run = programs.run  # type: ignore[method-assign]
    glance = Glance(host, ())
    with pytest.raises(FlexError):
        glance.run(Command(argv=("df", "/")))
    for _ in range(2):
        assert glance.run(Command(argv=("df", "/"))).text == "10%"
    assert [glance.run(Command(argv=("cat",), stdin=each)).text for each in (b"a", b"b")] == ["a", "b"]
    assert programs.lines == ["df /", "df /", "cat", "cat"]


def test_all_else_is_the_machine_itself(host: FakeHost) -> None:
    glance: Host = Glance(host, ())
    doors = [name for name, _ in inspect.getmembers(door.Host, lambda each: isinstance(each, property))]
    assert "files" in doors
    for name in doors:
        if name != "units":
            assert getattr(glance, name) is getattr(host, name)
