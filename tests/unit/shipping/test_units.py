"""The units as systemd reads them, in the places where an installation puts them."""

from __future__ import annotations

import configparser
import shutil
from pathlib import Path

import pytest

from flexlab.paths import repository
from flexnode.host import Command, run
from unit.shipping.samples import PROGRAM, make_root, small_files, unpack

PACKAGING = repository() / "packaging"
UNITS = sorted(path.name for path in PACKAGING.glob("*.service"))

HIDING = frozenset(
    {
        "ExecPaths",
        "InaccessiblePaths",
        "NoExecPaths",
        "PrivateDevices",
        "PrivateIPC",
        "PrivateMounts",
        "PrivateTmp",
        "PrivateUsers",
        "ProtectControlGroups",
        "ProtectHome",
        "ProtectHostname",
        "ProtectKernelLogs",
        "ProtectKernelModules",
        "ProtectKernelTunables",
        "ProtectProc",
        "ProtectSystem",
        "ReadOnlyPaths",
        "ReadWritePaths",
        "RootDirectory",
        "TemporaryFileSystem",
    }
)
"""Settings that give a service a mount namespace of its own, or its own view of the machine."""


def parse_unit(name: str) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None, delimiters="=", comment_prefixes="#", strict=True)
    unit.optionxform = str  # type: ignore[method-assign, assignment]
    unit.read_string((PACKAGING / name).read_text())
    return unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_units_as_they_are(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    root.install(unpack(tmp_path / "archive", small_files("1.0.0")), "--start")
    for target in ("basic", "local-fs", "multi-user", "network-online", "shutdown", "sysinit"):
        root.write(f"etc/systemd/system/{target}.target", "[Unit]\nDescription=as on every machine\n")
    verify = Command(
        argv=("systemd-analyze", "verify", "--man=no", f"--root={root.path}", *UNITS), expect=(0, 1)
    )
    assert run(verify).stderr.decode() == ""
    unit = root.path / "etc/systemd/system" / UNITS[0]
    unit.write_text(unit.read_text().replace("KillMode=mixed", "KillMode=mixd"))
    assert "mixd" in run(verify).stderr.decode()


@pytest.mark.parametrize("name", UNITS)
def test_nothing_hides_the_machine_from_the_program_that_manages_it(name: str) -> None:
    """A mount namespace of its own: kubelet's mounts could not be undone, and nobody would see why."""
    service = parse_unit(name)["Service"]
    assert not HIDING & set(service)
    assert not {"CAP_SYS_ADMIN", "CAP_SYS_MODULE", "CAP_NET_ADMIN"} & set(
        service["CapabilityBoundingSet"].removeprefix("~").split()
    )


def test_a_boot_without_an_open_journal_starts_no_python_for_it() -> None:
    unit = parse_unit(f"{PROGRAM}-recover.service")["Unit"]
    assert unit["ConditionPathExists"] == f"/var/lib/{PROGRAM}/journal"
    assert set(unit["Before"].split()) == {"containerd.service", "kubelet.service"}


def test_the_agent_is_restarted_whatever_ended_it_and_says_when_it_hangs() -> None:
    unit = parse_unit(f"{PROGRAM}-agent.service")
    assert unit["Service"]["Type"] == "notify"
    assert unit["Service"]["Restart"] == "always"
    assert unit["Service"]["WatchdogSec"]
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"


def test_both_units_let_the_program_do_the_same() -> None:
    """What the agent could do, its recovery must be able to undo at the next boot."""
    agent, recover = (
        {
            key: value
            for key, value in parse_unit(f"{PROGRAM}-{name}.service")["Service"].items()
            if key.startswith(("Restrict", "SystemCall", "Capability", "NoNew", "Lock"))
        }
        for name in ("agent", "recover")
    )
    assert agent == recover
