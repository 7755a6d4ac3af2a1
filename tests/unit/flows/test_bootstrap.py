"""A machine becomes a node with one call, whatever was in the way the first time."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from flexnode.components.layout import CONTAINERD, KUBELET
from flexnode.errors import FlexError, HostError, Kind, exit_code
from flexnode.flows.bootstrap import BootstrapOptions, bootstrap
from flexnode.flows.findings import recall
from flexnode.flows.records import find_provision
from flexnode.flows.unbootstrap import unbootstrap
from flexnode.generation import Desired, Result, Stopped
from flexnode.host import Command, run
from flexnode.host.door import UnitInfo
from flexnode.resources import Disruption
from unit.flows.samples import NODE_PATH, OTHER_UUID, ready_node
from unit.flows.world import CATALOG, TOKEN, World

OLDER = CATALOG.release_set("1.34").kubernetes
NEWER = CATALOG.release_set("1.35").kubernetes


def refuses(world: World, **sections: Any) -> FlexError:
    """The failure that is raised; that the machine is as it was is held on the way."""
    before = world.host.snapshot(times=True)
    world.host.writes.clear()
    with pytest.raises(FlexError) as caught:
        world.bootstrap(**sections)
    assert world.host.writes == []
    assert world.host.snapshot(times=True) == before
    assert not world.directory.journal.exists()
    found = find_provision(world.directory)
    assert found is not None
    assert (found.result, found.code) == ("failed", caught.value.code)
    return caught.value


def test_a_machine_becomes_a_node(world: World) -> None:
    outcome = world.bootstrap()
    assert outcome.result is Result.CONFIRMED
    assert outcome.current == outcome.generation
    assert outcome.reservations == outcome.warnings == ()
    assert world.memory() == {"current": outcome.generation, "desired": Desired.JOINED, "journal": False}
    assert world.host.units.is_active(KUBELET)
    assert world.cluster.get(NODE_PATH) is not None


def test_a_second_bootstrap_looks_once_and_asks_nobody_else(
    joined: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question to systemd is a program to start, and a settled machine has nothing to say."""
    asked: list[tuple[str, ...]] = []
    find = joined.host.units.find

    def find_all(names: Iterable[str]) -> Mapping[str, UnitInfo]:
        asked.append(tuple(names))
        return {name: find(name) for name in asked[-1]}

    monkeypatch.setattr(joined.host.units, "find_all", find_all)
    monkeypatch.setattr(joined.host.units, "find", lambda name: find_all((name,))[name])
    assert joined.bootstrap().result is Result.UNCHANGED
    assert len(asked) == 2, asked  # for what the node is composed from, and for what it is
    assert joined.server.seen == []
    assert joined.host.writes == []


def test_what_the_checks_learned_of_the_cluster_is_not_asked_again(world: World) -> None:
    world.bootstrap()
    asked = Counter(seen.path for seen in world.server.seen if not seen.user)
    assert "/version" in asked
    assert set(asked.values()) == {1}, asked


def test_what_a_settled_machine_does_not_need_is_not_loaded() -> None:
    """Every module is read and run again by every process, and the daemon's restart is one."""
    script = (
        "import sys; import flexnode.cli.bootstrap, flexnode.cli.operation, flexnode.flows.bootstrap;"
        "print(*sorted(sys.modules))"
    )
    loaded = set(run(Command(argv=(sys.executable, "-I", "-c", script))).text.split())
    assert "flexnode.flows.operate" in loaded
    slow = {"httpx", "h2", "yaml", "asyncio", "flexnode.flows.preflight", "flexnode.kube.manifests"}
    assert not loaded & slow


def test_a_change_of_a_node_is_checked_before_anything_is_touched(joined: World) -> None:
    joined.host.files.place("/proc/meminfo", "MemTotal: 100 kB\n")
    error = refuses(joined, kubelet={"maxPods": 42})
    assert error.code == "preflight/memory"


def test_it_leaves_what_scripts_and_people_read_afterwards(world: World) -> None:
    outcome = world.bootstrap()
    provision = find_provision(world.directory)
    assert provision is not None
    assert (provision.result, provision.code) == ("confirmed", "ok")
    assert provision.generation == outcome.generation
    assert {timing.name for timing in provision.timings if not timing.key} >= {"collect"}
    events = [json.loads(line) for line in (world.directory.root / "events.jsonl").read_text().splitlines()]
    assert {event["operation"] for event in events} == {"bootstrap"}
    *steps, closing = events
    assert {event["outcome"] for event in steps} == {"end"}
    assert {"stage", "plan", "apply", "verify", "confirm"} <= {event["step"] for event in steps}
    assert (closing["result"], closing["code"]) == ("confirmed", "ok")
    assert closing["generation"] == outcome.generation
    assert closing["seconds"] > 0
    assert world.books.open == []
    assert "wait until it is Ready: done" in world.books.told


def test_no_secret_stays_in_what_is_kept_about_the_machine(world: World) -> None:
    """Neither the generation, nor journal, nor events, nor anything else holds the token's text."""
    before = world.host.hook
    seen: list[bool] = []

    def look(moment: str) -> None:
        before(moment)
        if "unit" in moment or "start" in moment:
            seen.append(holds_token(world))

    world.host.hook = look
    world.bootstrap()
    assert seen
    assert not any(seen)
    assert not holds_token(world)
    assert TOKEN not in "\n".join(world.books.told)


def holds_token(world: World) -> bool:
    files = [path for path in world.directory.root.rglob("*") if path.is_file()]
    return any(TOKEN.encode() in path.read_bytes() for path in files)


def test_the_token_is_gone_from_the_machine_once_it_has_joined(joined: World) -> None:
    files = joined.host.snapshot()["files"]
    assert not [path for path, state in files.items() if TOKEN.encode() in state.get("data", b"")]


def test_a_second_run_changes_nothing_and_asks_nobody(joined: World) -> None:
    before = joined.host.snapshot(times=True)
    outcome = joined.bootstrap()
    assert outcome.result is Result.UNCHANGED
    assert joined.host.writes == []
    assert joined.host.snapshot(times=True) == before
    assert joined.server.seen == []


def test_a_second_run_needs_neither_token_nor_sources_nor_cluster(joined: World) -> None:
    """All three are gone a day later."""
    joined.accepted = "000000.0000000000000000"
    joined.api_down = True
    shutil.rmtree(joined.mirror)
    assert joined.bootstrap().result is Result.UNCHANGED


def test_a_changed_token_changes_nothing_on_a_node(joined: World) -> None:
    outcome = joined.bootstrap(auth={"bootstrapToken": "fedcba.fedcba9876543210"})
    assert outcome.result is Result.UNCHANGED
    assert joined.host.writes == []


def test_a_changed_setting_is_applied_with_the_smallest_disruption(joined: World) -> None:
    outcome = joined.bootstrap(kubelet={"maxPods": 42})
    assert outcome.result is Result.CONFIRMED
    assert outcome.restarts == (KUBELET,)
    assert outcome.disruption is Disruption.RESTART_KUBELET
    assert f"restart {CONTAINERD}" not in joined.host.writes


def test_another_version_is_another_generation_and_the_old_one_is_kept(world: World) -> None:
    first = world.bootstrap(versions={"kubernetes": "1.34"})
    second = world.bootstrap(versions={"kubernetes": "1.35"})
    assert second.result is Result.CONFIRMED
    assert second.generation != first.generation
    assert world.directory.known_generations() == tuple(sorted((first.generation, second.generation)))
    node = world.cluster.get(NODE_PATH)
    assert node is not None
    assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{NEWER}"


def test_an_upgrade_that_does_not_get_ready_is_taken_back(world: World) -> None:
    """Row 21: the node is Ready again as it was, and the same change is not tried again by itself."""
    first = world.bootstrap(versions={"kubernetes": "1.34"})
    world.broken.add(NEWER)
    outcome = world.bootstrap(versions={"kubernetes": "1.35"})
    assert outcome.result is Result.ROLLED_BACK
    assert outcome.current == first.generation
    assert outcome.failure is not None
    assert outcome.failure.code in ("node/not-ready", "node/other-version")
    node = world.cluster.get(NODE_PATH)
    assert node is not None
    assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{OLDER}"
    provision = find_provision(world.directory)
    assert provision is not None
    assert (provision.result, provision.code) == ("rolled-back", outcome.failure.code)
    with pytest.raises(FlexError) as caught:
        world.bootstrap(versions={"kubernetes": "1.35"})
    assert caught.value.code == "generation/rejected"
    assert "go back: done" in world.books.told


def test_a_change_is_waited_for_as_long_as_was_configured_and_no_longer(world: World) -> None:
    """A first join may take its time; an on-call person waits for the way back from a change."""
    world.bootstrap(versions={"kubernetes": "1.34"})
    world.broken.add(NEWER)
    begin = world.clock.monotonic()
    outcome = world.bootstrap(versions={"kubernetes": "1.35"}, agent={"verifyTimeout": "2m"})
    assert outcome.result is Result.ROLLED_BACK
    assert 120 <= world.clock.monotonic() - begin < 240


def test_what_was_rejected_is_tried_again_when_a_person_insists(world: World) -> None:
    world.bootstrap(versions={"kubernetes": "1.34"})
    world.broken.add(NEWER)
    world.bootstrap(versions={"kubernetes": "1.35"})
    world.broken.clear()
    outcome = world.bootstrap(retry=True, versions={"kubernetes": "1.35"})
    assert outcome.result is Result.CONFIRMED


def test_a_machine_that_is_not_fit_is_left_as_it_is(world: World) -> None:
    world.host.units.place("docker.service", enabled=True, active=True)
    error = refuses(world)
    assert error.code == "preflight/other-runtime"
    assert error.hint
    assert recall(world.directory, world.server.url) is None


def test_a_check_that_is_ignored_keeps_nobody_from_joining(world: World) -> None:
    world.host.units.place("docker.service", enabled=True, active=True)
    options = BootstrapOptions(ignore=("other-runtime",))
    assert bootstrap(world.resolved(), world.workplace, options).result is Result.CONFIRMED


def test_a_wrong_token_is_said_at_once(world: World) -> None:
    """Row 17: terminal, and nothing was changed for it."""
    world.accepted = "000000.0000000000000000"
    error = refuses(world)
    assert error.kind is Kind.TERMINAL
    assert error.code == "kube/unauthorized"
    assert TOKEN not in error.message + error.hint


def test_a_cluster_that_cannot_be_reached_is_tried_again_later(world: World) -> None:
    """Row 16."""
    world.api_down = True
    error = refuses(world)
    assert error.kind is Kind.TRANSIENT
    world.api_down = False
    assert world.bootstrap().result is Result.CONFIRMED


def test_a_name_that_another_machine_has_is_not_taken(world: World) -> None:
    """Row 19."""
    theirs = ready_node(nodeInfo={"kubeletVersion": "v1.35.1", "systemUUID": OTHER_UUID})
    kept = world.cluster.put(NODE_PATH, theirs)
    error = refuses(world)
    assert error.kind is Kind.TERMINAL
    assert OTHER_UUID in error.message
    assert world.cluster.get(NODE_PATH) == kept


def test_files_that_are_nowhere_are_listed(world: World) -> None:
    """Row 9."""
    shutil.rmtree(world.mirror / "sha256")
    (world.mirror / "sha256").mkdir()
    error = refuses(world)
    assert error.kind is Kind.TERMINAL


def test_a_file_that_is_not_the_right_one_never_reaches_the_machine(world: World) -> None:
    """Row 7: a flipped bit, of the same size, so that only the digest tells."""
    for path in (world.mirror / "sha256").iterdir():
        data = bytearray(path.read_bytes())
        data[0] ^= 1
        path.write_bytes(bytes(data))
    error = refuses(world)
    assert error.code == "artifact/digest-mismatch"
    assert error.kind is Kind.TERMINAL
    assert not list(world.directory.store.glob("sha256/*"))


def test_a_token_that_is_revoked_halfway_leaves_a_machine_to_go_on_with(world: World) -> None:
    """Row 18: the certificate does not come. The first bootstrap is never undone; it is gone on with."""
    world.host.hook = lambda moment: setattr(world, "accepted", "revoked") if "kubelet" in moment else None
    outcome = world.bootstrap()
    assert outcome.result is Result.UNCONFIRMED
    assert outcome.failure is not None
    assert outcome.failure.code == "join/no-certificate"
    assert outcome.failure.kind is Kind.TRANSIENT
    assert world.directory.journal.exists()
    world.host.hook = lambda _moment: None
    world.accepted = TOKEN
    assert world.bootstrap().result is Result.CONFIRMED
    assert not world.directory.journal.exists()


def test_a_full_disk_is_a_failure_for_now(world: World) -> None:
    """Row 4: said, and gone on with once there is room."""

    def full(moment: str) -> None:
        if moment.startswith("before write /etc/kubernetes"):
            raise HostError("no space left in /etc: 0 B are free", code="host/no-space", transient=True)

    world.host.hook = full
    outcome = world.bootstrap()
    assert outcome.result is Result.UNCONFIRMED
    assert outcome.failure is not None
    assert outcome.failure.code == "host/no-space"
    assert outcome.failure.kind is Kind.TRANSIENT
    assert world.books.open == []
    world.host.hook = lambda _moment: None
    assert world.bootstrap().result is Result.CONFIRMED


def test_a_bootstrap_that_is_stopped_can_be_gone_on_with(world: World) -> None:
    asked: list[bool] = []
    world.stop = lambda: bool(asked)
    world.host.hook = lambda moment: asked.append(True) if "containerd.service" in moment else None
    with pytest.raises(Stopped):
        world.bootstrap()
    assert world.books.open == []
    assert not world.host.units.is_active(KUBELET)
    asked.clear()
    world.host.hook = lambda _moment: None
    assert world.bootstrap().result is Result.CONFIRMED


def test_a_second_bootstrap_at_once_is_busy_and_the_record_is_about_the_first(world: World) -> None:
    codes: list[str] = []

    def again(moment: str) -> None:
        if moment.startswith("before write /etc/kubernetes") and not codes:
            with pytest.raises(FlexError) as caught:
                world.bootstrap()
            codes.append(caught.value.code)
            assert exit_code(caught.value) == 75

    world.host.hook = again
    first = world.bootstrap()
    assert codes == ["state/busy"]
    found = find_provision(world.directory)
    assert found is not None
    assert (found.result, found.code, found.generation) == ("confirmed", "ok", first.generation)


def test_the_time_for_it_can_be_set(world: World) -> None:
    world.broken.add(NEWER)
    started = world.clock.monotonic()
    outcome = bootstrap(world.resolved(), world.workplace, BootstrapOptions(seconds=60))
    assert outcome.result is Result.UNCONFIRMED
    assert 60 <= world.clock.monotonic() - started <= 62


def test_a_first_join_is_waited_for_as_long_as_was_configured(world: World) -> None:
    world.broken.add(NEWER)
    started = world.clock.monotonic()
    outcome = world.bootstrap(agent={"bootstrapTimeout": "90s"})
    assert outcome.result is Result.UNCONFIRMED
    assert 90 <= world.clock.monotonic() - started <= 92


def test_a_machine_that_has_left_can_come_back(joined: World) -> None:
    unbootstrap(joined.workplace)
    assert joined.bootstrap().result is Result.CONFIRMED
