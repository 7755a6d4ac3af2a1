"""The fault matrix, rows 31 and 32, for whole flows: what somebody else did, or does, to the machine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faults.scene import TRANSIENT, Scene, open_scene
from flexnode.components.layout import CONTAINERD, KUBELET
from flexnode.flows.status import AgentStatus
from unit.flows.samples import NODE_PATH

UNIT_FILE = f"/etc/systemd/system/{KUBELET}"
CONFIG_FILE = "/etc/containerd/config.toml"
CHANGES = 10
HOUR = 3600.0
"""After which the daemon looks at everything, whatever it heard of."""


def mask(scene: Scene) -> None:
    """As a person does whose `systemctl mask` is refused, since the unit's own file lies there."""
    host = scene.world.host
    host.files.remove(UNIT_FILE)
    host.files.make_link(UNIT_FILE, "/dev/null")
    host.units.stop(KUBELET)


def edit(scene: Scene) -> None:
    scene.world.host.files.place(CONFIG_FILE, "version = 3\nmine = true\n")


MEDDLING = pytest.mark.parametrize(
    ("meddle", "key"),
    [(mask, f"file:{UNIT_FILE}"), (edit, f"file:{CONFIG_FILE}")],
    ids=["masked", "edited"],
)


def is_as_it_was(scene: Scene) -> bool:
    host = scene.world.host
    node = scene.world.cluster.get(NODE_PATH)
    return (
        all(host.units.is_active(unit) for unit in (CONTAINERD, KUBELET))
        and node is not None
        and scene.type("plan").status == 0
    )


def drift_of(status: AgentStatus) -> tuple[str, ...]:
    return tuple(status.drift)


@MEDDLING
def test_the_daemon_puts_back_what_somebody_changed(meddle: Callable[[Scene], None], key: str) -> None:
    with open_scene() as scene:
        scene.join()
        scene.live(5)
        meddle(scene)
        assert scene.live(HOUR + 60).healthy
        assert is_as_it_was(scene)


@MEDDLING
def test_where_drift_shall_be_reported_it_is_and_nothing_is_touched(
    meddle: Callable[[Scene], None], key: str
) -> None:
    with open_scene(agent={"drift": "report"}) as scene:
        scene.join()
        scene.live(5)
        meddle(scene)
        changed = scene.world.host.snapshot()
        status = scene.live(HOUR + 60)
        assert key in drift_of(status)
        assert not status.healthy
        assert scene.world.host.snapshot() == changed
        assert scene.type("plan").status == CHANGES
        assert scene.type("bootstrap").status == 0, "a person who asks for it gets it"
        assert is_as_it_was(scene)


def test_a_file_that_somebody_made_their_own_is_kept_when_the_node_leaves() -> None:
    """And said, with exit code 3."""
    with open_scene() as scene:
        scene.join()
        edit(scene)
        ended = scene.type("unbootstrap", "--yes")
        assert (ended.status, ended.data["result"]) == (3, "left")
        assert CONFIG_FILE in ended.data["kept"]
        assert b"mine" in scene.world.host.files.read(CONFIG_FILE)
        assert scene.world.cluster.get(NODE_PATH) is None


def test_a_mask_keeps_no_node_from_leaving() -> None:
    with open_scene() as scene:
        before = scene.world.host.snapshot()
        scene.join()
        mask(scene)
        assert scene.type("unbootstrap", "--yes").status == 0
        assert scene.world.host.snapshot() == before


def test_a_package_manager_that_is_busy_for_a_while_is_waited_for() -> None:
    with open_scene() as scene:
        packages = scene.world.host.packages
        packages.locked = True
        scene.world.clock.at(5, lambda: setattr(packages, "locked", False))
        assert scene.type("bootstrap").status == 0


def test_one_that_stays_busy_leaves_a_machine_to_go_on_with() -> None:
    with open_scene() as scene:
        scene.world.host.packages.locked = True
        ended = scene.type("bootstrap")
        assert (ended.status, ended.code, ended.kind) == (TRANSIENT, "package/locked", "transient")
        assert ended.data["result"] == "unconfirmed"
        scene.world.host.packages.locked = False
        assert scene.type("bootstrap").status == 0


def test_what_was_installed_half_way_is_finished_first() -> None:
    with open_scene() as scene:
        packages = scene.world.host.packages
        packages.half_configured.add("hello")
        assert scene.type("bootstrap").status == 0
        assert packages.half_configured == set()
