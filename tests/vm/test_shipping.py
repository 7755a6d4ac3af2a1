"""The archive on stock machines: installed without network, upgraded under a running node, and gone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import flexnode
from flexlab import machine
from flexlab.model import Suite
from flexlab.parts.toolchain import machine_arch
from flexlab.paths import repository
from flexlab.testing import LabUnderTest, Machine
from flexnode.progress import Silent
from unit.shipping.samples import PROGRAM, builder

pytestmark = pytest.mark.vm

PYTHONS = {Suite.BOOKWORM: "3.11", Suite.TRIXIE: "3.13"}
NEWER = "999.0.0"
LUGGAGE = "/root/dist"
SUITES = pytest.mark.parametrize("suite", list(PYTHONS))

# Everything that lasts, with its owner, mode, size, time and target; not what a running system itself writes.
FOOTPRINT = r"""
find /etc /home /opt /root /srv /usr /var -xdev \
  \( -path /var/log/journal -o -path /var/lib/systemd -o -path /var/tmp \) -prune \
  -o -type d -printf '%p %y %m %U %G\n' -o -printf '%p %y %m %U %G %s %T@ %l\n' | sort
ls -d /run/*flex* 2>/dev/null
systemctl list-unit-files --no-legend --plain
"""

# Each unit that runs, with what tells one run of it from the next.
INVOCATIONS = "systemctl show '*.service' -p Id -p InvocationID -p ActiveState"

# They start when somebody asks them something, and end by themselves when nobody does.
ON_DEMAND = {f"systemd-{name}.service" for name in ("hostnamed", "localed", "timedated")}

STAND_IN = """\
[Service]
Type=exec
WatchdogSec=0
ExecStart=
ExecStart=sleep infinity
"""


def build(output: Path, source: Path, *suites: Suite) -> Path:
    targets = [builder.Target(python=PYTHONS[suite], arch=machine_arch()) for suite in suites]
    builder.build(source, targets, output, Silent())
    return output


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a user copies who does not know which machine has which Python."""
    return build(tmp_path_factory.mktemp("shipping") / "dist", repository(), *PYTHONS)


@pytest.fixture(scope="session")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a higher version."""
    folder = tmp_path_factory.mktemp("newer")
    for name in ("src/flexnode", "packaging", "scripts", "requirements"):
        shutil.copytree(repository() / name, folder / "source" / name)
    shutil.copyfile(repository() / "LICENSE", folder / "source/LICENSE")
    module = folder / "source/src/flexnode/__init__.py"
    module.write_text(module.read_text().replace(flexnode.__version__, NEWER))
    return build(folder / "dist", folder / "source", *PYTHONS)


def install(one: Machine, dist: Path, *words: str) -> str:
    machine.push(one.lab, one.node, dist, LUGGAGE)
    said = one.sh(f"sh {LUGGAGE}/install.sh {' '.join(words)} 2>&1", timeout=300)
    one.sh(f"rm -rf {LUGGAGE}")
    return said


@SUITES
@pytest.mark.timeout(900)
def test_a_stock_machine_is_as_it_was_after_an_uninstallation(
    make_machine: Callable[..., Machine], dist: Path, suite: Suite
) -> None:
    one = make_machine(f"ship-{suite}", suite=suite)
    before = one.sh(FOOTPRINT)
    install(one, dist)
    said = json.loads(one.run(PROGRAM, "version", "--output", "json").stdout)
    assert said["version"] == flexnode.__version__
    assert said["python"].startswith(f"{PYTHONS[suite]}.")
    enabled = ("systemctl", "is-enabled", f"{PROGRAM}-agent", f"{PROGRAM}-recover")
    assert one.run(*enabled, expect=(0, 1)).text.split() == ["disabled", "enabled"]
    one.run("systemd-analyze", "verify", "--man=no", f"{PROGRAM}-agent.service", f"{PROGRAM}-recover.service")
    one.sh(f"sh /opt/{PROGRAM}/current/uninstall.sh 2>&1")
    assert one.sh(FOOTPRINT).splitlines() == before.splitlines()


@pytest.mark.timeout(900)
def test_a_boot_does_not_start_python_for_nothing(
    stock_machine: Machine, dist: Path, session_lab: LabUnderTest
) -> None:
    install(stock_machine, dist)
    machine.reboot(stock_machine.lab, stock_machine.node, session_lab.clock)
    show = f"systemctl show {PROGRAM}-recover -p ConditionResult -p ExecMainStartTimestampMonotonic"
    found = dict(line.split("=", 1) for line in stock_machine.sh(show).splitlines())
    assert found == {"ConditionResult": "no", "ExecMainStartTimestampMonotonic": "0"}
    # The condition was looked at in this boot, before containerd and kubelet could have started.
    assert "skipped" in stock_machine.sh(f"journalctl -b -u {PROGRAM}-recover")


@pytest.mark.timeout(900)
def test_an_upgrade_restarts_the_agent_and_nothing_else(
    stock_machine: Machine, dist: Path, newer: Path
) -> None:
    install(stock_machine, dist)
    # What the agent does is others' business: here it only has to run.
    folder = f"/run/systemd/system/{PROGRAM}-agent.service.d"
    stock_machine.sh(f"mkdir -p {folder} && cat >{folder}/stand-in.conf <<'EOF'\n{STAND_IN}\nEOF")
    install(stock_machine, dist, "--start")
    before = read_invocations(stock_machine)
    assert f"{PROGRAM} {NEWER} is installed" in install(stock_machine, newer)
    after = read_invocations(stock_machine)
    changed = {unit for unit in before if after.get(unit) != before[unit]}
    assert changed == {f"{PROGRAM}-agent.service"}
    assert stock_machine.run(PROGRAM, "version").text.startswith(f"{PROGRAM} {NEWER}")
    assert stock_machine.sh(f"ls /opt/{PROGRAM}/versions | wc -l").strip() == "2"


def read_invocations(one: Machine) -> dict[str, str]:
    """The runs of all services that run on, by unit."""
    found = {}
    for block in one.sh(INVOCATIONS).strip().split("\n\n"):
        unit = dict(line.split("=", 1) for line in block.splitlines())
        if unit["ActiveState"] == "active" and unit["Id"] not in ON_DEMAND:
            found[unit["Id"]] = unit["InvocationID"]
    return found
