"""Units: on disk where systemd does not run, through systemctl where it does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.errors import FlexError, HostError
from flexnode.host import RootfsHost
from flexnode.host.door import Enablement, UnitInfo, Units
from flexnode.host.fake import FakeHost
from flexnode.host.systemd import Systemd, parse_show
from flexnode.host.unit_file import parse_install, template_of
from unit.host.programs import Programs, fails, says

UNIT = b"[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
STATIC = b"[Service]\nExecStart=/bin/true\n"
ADMIN = "/etc/systemd/system"
VENDOR = "/usr/lib/systemd/system"

SHOWN = """\
NRestarts=2
LoadState=loaded
ActiveState=active
UnitFileState=enabled
InvocationID=5e1dd40b0e5a4dbd8d4c06e2b0f4b0c7
NeedDaemonReload=yes

NRestarts=0
LoadState=loaded
ActiveState=failed
UnitFileState=static
InvocationID=
NeedDaemonReload=no

LoadState=masked
ActiveState=inactive
UnitFileState=masked
InvocationID=
NeedDaemonReload=no

LoadState=not-found
ActiveState=inactive
UnitFileState=
InvocationID=
NeedDaemonReload=no
"""


def rootfs_host(root: Path) -> RootfsHost:
    host = RootfsHost(root)
    for path in ("/etc", "/etc/systemd", ADMIN, "/usr", "/usr/lib", "/usr/lib/systemd", VENDOR):
        host.files.make_directory(path, mode=0o755)
    return host


@pytest.fixture(params=["rootfs", "fake", "fake that runs"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> RootfsHost | FakeHost:
    if request.param == "rootfs":
        return rootfs_host(tmp_path)
    return FakeHost(running=request.param == "fake that runs")


def code(act: Callable[[], object]) -> str:
    with pytest.raises(FlexError) as caught:
        act()
    return caught.value.code


def state(units: Units, name: str) -> Enablement:
    return units.find(name).enablement


def test_a_unit_is_what_its_files_and_links_say(host: RootfsHost | FakeHost) -> None:
    host.files.write(f"{VENDOR}/a.service", UNIT, mode=0o644)
    host.files.write(f"{VENDOR}/b.service", STATIC, mode=0o644)
    assert state(host.units, "a.service") is Enablement.DISABLED
    assert state(host.units, "b.service") is Enablement.STATIC
    assert state(host.units, "c.service") is Enablement.ABSENT
    host.units.enable("a.service")
    host.units.enable("b.service")
    assert state(host.units, "a.service") is Enablement.ENABLED
    assert state(host.units, "b.service") is Enablement.STATIC
    link = host.files.find(f"{ADMIN}/multi-user.target.wants/a.service")
    assert link is not None
    assert link.target == f"{VENDOR}/a.service"
    host.units.disable("a.service")
    assert state(host.units, "a.service") is Enablement.DISABLED
    assert host.files.find(f"{ADMIN}/multi-user.target.wants/a.service") is None
    host.units.disable("a.service")
    assert code(lambda: host.units.enable("c.service")) == "host/unit-missing"


def test_enabling_spares_the_links_of_others(host: RootfsHost | FakeHost) -> None:
    host.files.write(f"{VENDOR}/a.service", UNIT, mode=0o644)
    host.files.write(f"{VENDOR}/b.service", UNIT, mode=0o644)
    host.units.enable("a.service")
    host.units.enable("b.service")
    host.units.disable("a.service")
    assert state(host.units, "b.service") is Enablement.ENABLED


def test_a_mask_hides_a_unit_and_what_enabled_it_stays(host: RootfsHost | FakeHost) -> None:
    host.files.write(f"{VENDOR}/a.service", UNIT, mode=0o644)
    host.units.enable("a.service")
    host.units.mask("a.service")
    host.units.mask("a.service")
    assert state(host.units, "a.service") is Enablement.MASKED
    assert code(lambda: host.units.enable("a.service")) == "host/unit-masked"
    host.units.unmask("a.service")
    assert state(host.units, "a.service") is Enablement.ENABLED
    host.units.mask("dev-vda2.swap")  # a unit that is generated at boot can be masked before it exists
    assert state(host.units, "dev-vda2.swap") is Enablement.MASKED
    host.units.unmask("dev-vda2.swap")
    assert state(host.units, "dev-vda2.swap") is Enablement.ABSENT


def test_a_file_where_the_mask_goes_is_not_overwritten(host: RootfsHost | FakeHost) -> None:
    host.files.write(f"{ADMIN}/a.service", UNIT, mode=0o644)
    assert code(lambda: host.units.mask("a.service")) == "host/unit-file-in-the-way"
    assert host.files.read(f"{ADMIN}/a.service") == UNIT


def test_the_administrators_file_wins(host: RootfsHost | FakeHost) -> None:
    host.files.write(f"{VENDOR}/a.service", STATIC, mode=0o644)
    assert state(host.units, "a.service") is Enablement.STATIC
    host.files.write(f"{ADMIN}/a.service", UNIT, mode=0o644)
    assert state(host.units, "a.service") is Enablement.DISABLED


def test_an_instance_comes_from_its_template(host: RootfsHost | FakeHost) -> None:
    host.files.write(f"{VENDOR}/a@.service", UNIT + b"Alias=%p-%i.service\n", mode=0o644)
    host.units.enable("a@one.service")
    assert state(host.units, "a@one.service") is Enablement.ENABLED
    assert state(host.units, "a@two.service") is Enablement.DISABLED
    assert host.files.find(f"{ADMIN}/a-one.service") is not None
    host.units.disable("a@one.service")
    assert host.files.find(f"{ADMIN}/a-one.service") is None


def test_units_that_belong_together_are_enabled_together(tmp_path: Path) -> None:
    host = rootfs_host(tmp_path)
    host.files.write(f"{VENDOR}/a.service", UNIT + b"Also=a.socket b.socket\n", mode=0o644)
    socket = b"[Install]\nRequiredBy=sockets.target\nAlso=a.service\n"
    host.files.write(f"{VENDOR}/a.socket", socket, mode=0o644)
    host.units.enable("a.service")
    assert host.files.find(f"{ADMIN}/sockets.target.requires/a.socket") is not None


def test_nothing_is_active_where_nothing_runs(tmp_path: Path) -> None:
    host = rootfs_host(tmp_path)
    host.files.write(f"{VENDOR}/a.service", UNIT, mode=0o644)
    host.units.start("a.service")
    host.units.restart("a.service")
    host.units.stop("a.service")
    host.units.reload_manager()
    assert host.units.find("a.service") == UnitInfo(enablement=Enablement.DISABLED, active=None)
    assert host.units.find_all(["a.service"])["a.service"].active is None


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("", []),
        ("WantedBy=a.target\n", []),
        ("[Install]\nWantedBy=a.target b.target\n", ["a.target.wants/x", "b.target.wants/x"]),
        ("[Install]\nWantedBy=a.target \\\n b.target\n", ["a.target.wants/x", "b.target.wants/x"]),
        ("[Install]\nWantedBy=a.target\nWantedBy=\nRequiredBy=b.target\n", ["b.target.requires/x"]),
        ("[Install]\n# WantedBy=a.target\n;WantedBy=a.target\nUpheldBy=c.target\n", ["c.target.upholds/x"]),
        ("[Install]\nAlias=y.service\n[Service]\nAlias=z.service\n", ["y.service"]),
    ],
)
def test_the_install_section_is_read_as_systemd_reads_it(text: str, links: list[str]) -> None:
    assert list(parse_install(text).links("x")) == [f"{ADMIN}/{link}" for link in links]


def test_a_template_is_enabled_for_its_default_instance() -> None:
    install = parse_install("[Install]\nWantedBy=getty.target\nDefaultInstance=tty1\n")
    assert install.links("getty@.service") == (f"{ADMIN}/getty.target.wants/getty@tty1.service",)
    assert template_of("getty@tty1.service") == "getty@.service"
    assert template_of("kubelet.service") == "kubelet.service"


@given(st.text())
def test_no_unit_file_is_a_crash(text: str) -> None:
    parse_install(text).links("a@b.service")


def test_systemd_is_asked_once_for_many() -> None:
    programs = Programs({"show": [says(SHOWN)]})
    names = ["kubelet.service", "broken.service", "swap.target", "nothing.service"]
    found = Systemd(run=programs.run).find_all(names)
    assert len(programs.commands) == 1
    assert programs.commands[0].argv[-5:] == ("--", *names)
    assert found == {
        "kubelet.service": UnitInfo(
            enablement=Enablement.ENABLED,
            active=True,
            invocation="5e1dd40b0e5a4dbd8d4c06e2b0f4b0c7",
            needs_reload=True,
            restarts=2,
        ),
        "broken.service": UnitInfo(enablement=Enablement.STATIC, active=False, failed=True),
        "swap.target": UnitInfo(enablement=Enablement.MASKED, active=False),
        "nothing.service": UnitInfo(enablement=Enablement.ABSENT, active=False),
    }


def test_an_answer_for_fewer_units_is_not_given_to_the_wrong_ones() -> None:
    programs = Programs({"show": [says(SHOWN)]})
    assert code(lambda: Systemd(run=programs.run).find_all(["a.service"])) == "host/unit-unclear"


def test_a_systemd_that_does_not_answer_a_question_is_asked_again_later() -> None:
    programs = Programs({"show": [fails("Failed to connect to bus: Connection refused")]})
    with pytest.raises(HostError) as caught:
        Systemd(run=programs.run).find("a.service")
    assert caught.value.code == "host/systemd-unavailable"
    assert caught.value.transient


def test_a_reboot_is_asked_of_systemd_in_order() -> None:
    """Not forced: pods, containerd and the file systems end as they should."""
    programs = Programs({"reboot": [says("")]})
    Systemd(run=programs.run).reboot()
    assert programs.commands[0].argv == ("systemctl", "--quiet", "--no-ask-password", "reboot")


def test_nothing_asked_is_nothing_run() -> None:
    programs = Programs()
    assert Systemd(run=programs.run).find_all([]) == {}
    assert programs.commands == []


@given(st.text())
def test_no_answer_of_systemctl_is_a_crash(text: str) -> None:
    assert all(info.restarts >= 0 for info in parse_show(text))


def test_a_start_forgets_earlier_failures_so_that_it_is_tried() -> None:
    programs = Programs({"reset-failed": [fails("Unit a.service not loaded.", 5)]})
    Systemd(run=programs.run).start("a.service")
    assert [command.argv[-2:] for command in programs.commands] == [
        ("reset-failed", "a.service"),
        ("start", "a.service"),
    ]


@pytest.mark.parametrize(
    ("words", "expected", "transient"),
    [
        ("Failed to start a.service: Unit a.service not found.", "host/unit-missing", False),
        ("Failed to enable unit: Unit file a.service does not exist.", "host/unit-missing", False),
        ("Failed to start a.service: Unit a.service is masked.", "host/unit-masked", False),
        (
            "Failed to mask unit: File '/etc/systemd/system/a.service' already exists.",
            "host/unit-file-in-the-way",
            False,
        ),
        (
            "Job for a.service failed because the control process exited with error code.\nSee ...",
            "host/unit-failed",
            False,
        ),
        (
            "Failed to connect to bus: No such file or directory",
            "host/systemd-unavailable",
            True,
        ),
        ("Failed to disable unit: Read-only file system", "host/read-only", False),
    ],
)
def test_what_systemctl_refuses_has_a_code(words: str, expected: str, transient: bool) -> None:
    programs = Programs({"start": [fails(words)]})
    with pytest.raises(FlexError) as caught:
        Systemd(run=programs.run).start("a.service")
    assert (caught.value.code, caught.value.transient) == (expected, transient)


def test_a_failed_start_names_the_cause_and_where_to_look() -> None:
    words = "Job for a.service failed because the control process exited with error code.\nSee more"
    programs = Programs({"start": [fails(words)]})
    with pytest.raises(FlexError, match=r"Job for a\.service failed because") as caught:
        Systemd(run=programs.run).start("a.service")
    assert caught.value.hint == "systemctl status a.service; journalctl -u a.service"


def test_to_stop_what_is_not_loaded_is_no_failure() -> None:
    programs = Programs({"stop": [fails("Failed to stop a.service: Unit a.service not loaded.", 5)]})
    Systemd(run=programs.run).stop("a.service")
    assert programs.commands[-1].argv[-2:] == ("reset-failed", "a.service")
