"""The agent's life on a machine: what it does by itself, what it leaves alone, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.components.layout import KUBELET
from flexnode.errors import FlexError, HostError
from flexnode.generation import Desired, Stopped
from flexnode.generation.durable import seal
from flexnode.generation.judge import BOOT_ID
from flexnode.generation.lock import hold
from flexnode.kube.nodes import NODES
from flexnode.secret import Secret
from unit.agent.samples import NODE, World, leave
from unit.generation.samples import Crash, make_node

OLD = {"versions": {"kubernetes": "1.34.0"}}
NEW = {"versions": {"kubernetes": "1.35.0"}}
BUDGET = FlexError(
    "node-1 was not empty after 300 s: waiting for default/web-1 (web-budget allows none)",
    code="drain/timeout",
    transient=True,
)
DRIFT = "/etc/systemd/system/kubelet.service"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def joined(world: World) -> World:
    """A node at rest, its first check done."""
    world.live(120)
    assert world.state.current is not None
    world.work.asked.clear()
    world.lab.host.writes.clear()
    return world


class TestBecomingANode:
    def test_a_machine_with_a_configuration_becomes_a_node(self, world: World) -> None:
        world.live(60)
        assert world.state.current == make_node().id
        assert world.work.asked == ["bootstrap"]
        assert (world.status.phase, world.status.healthy) == ("supervising", True)
        assert world.condition["status"] == "True"
        assert world.events == ["Bootstrapped"]

    def test_what_fails_for_the_moment_is_tried_again_later_and_later(self, world: World) -> None:
        world.lab.online = False
        world.live(3600)
        attempts = len(world.work.asked)
        assert 10 <= attempts <= 20
        assert world.status.failure is not None
        assert world.status.failure.code == "artifact/connect-failed"
        assert (world.status.phase, world.status.reason) == ("waiting", "BootstrapFailed")
        assert world.status.retry_at is not None
        world.lab.online = True
        world.live(400)
        assert world.status.healthy

    def test_what_trying_again_cannot_help_waits_for_other_inputs(self, world: World) -> None:
        world.work.broken["bootstrap"] = FlexError("the token is wrong", code="kube/unauthorized")
        world.live(7200)
        assert world.work.asked == ["bootstrap"]
        assert (world.status.phase, world.status.retry_at) == ("resting", None)
        del world.work.broken["bootstrap"]
        world.configure()  # the values are the same: another token does not change their digest
        world.live(60)
        assert world.status.healthy

    def test_a_person_can_insist_without_changing_anything(self, world: World) -> None:
        world.work.broken["bootstrap"] = FlexError("the token is wrong", code="kube/unauthorized")
        world.live(60)
        world.work.broken.clear()
        world.bell.again = True
        world.live(60)
        assert world.status.healthy
        assert not world.bell.again

    def test_without_a_configuration_it_says_what_is_missing_and_waits_for_it(self, world: World) -> None:
        world.config_file.unlink()
        world.live(300)
        assert world.work.asked == []
        assert world.status.failure is not None
        assert world.status.failure.code == "config/not-found"
        world.configure()
        world.live(60)
        assert world.status.healthy

    def test_a_corrected_mistake_ends_the_attempt_that_it_spoils(self, world: World) -> None:
        """A first bootstrap may wait for minutes for what cannot come."""
        bell_rang = []

        def verify(*_: object) -> None:
            if not bell_rang:
                bell_rang.append(True)
                world.configure(**NEW)
                world.clock.sleep(10)
            if world.work.stop():
                raise Stopped

        world.lab.verify = verify  # type: ignore[assignment]
        world.live(60)
        assert world.work.asked == ["bootstrap", "bootstrap"]
        assert world.state.current == make_node(kubelet="1.35.0").id

    def test_a_defect_in_one_operation_does_not_end_the_agent(self, world: World) -> None:
        secret = Secret("correct-horse")
        world.work.broken["bootstrap"] = ZeroDivisionError(f"oops: {secret.reveal()}")
        world.live(60)
        assert world.status.failure is not None
        assert world.status.failure.code == "agent/defect"
        assert "oops" in world.status.failure.message
        assert "correct-horse" not in world.status.failure.message
        world.work.broken.clear()
        world.live(300)
        assert world.status.healthy


class TestChangedConfiguration:
    def test_a_valid_change_is_applied_by_itself(self, joined: World) -> None:
        joined.configure(**NEW)
        joined.live(10)
        assert joined.work.asked == ["bootstrap"]
        assert joined.state.current == make_node(kubelet="1.35.0").id
        assert "ConfigurationApplied" in joined.events

    def test_a_change_is_noticed_though_no_event_tells_of_it(self, joined: World) -> None:
        joined.configure(**NEW)
        joined.config_watch.touched.clear()
        joined.live(120)
        assert joined.state.current == make_node(kubelet="1.35.0").id

    def test_one_that_is_not_valid_changes_nothing_and_is_told_everywhere(self, joined: World) -> None:
        before = joined.state
        joined.write_config(
            '{"apiVersion": "flexnode.io/v1", "kind": "NodeConfig", "kubelet": {"maxPod": 5}}'
        )
        joined.live(120)
        assert joined.state == before
        assert joined.lab.host.writes == []
        assert joined.status.reason == "ConfigurationInvalid"
        assert "generation" not in joined.work.asked
        assert joined.condition["status"] == "False"
        assert "maxPod" in joined.condition["message"]
        assert joined.events[-1] == "ConfigurationInvalid"
        joined.configure()
        joined.live(10)
        assert joined.status.healthy

    def test_what_pods_cannot_stay_for_drains_the_node_first(self, joined: World) -> None:
        joined.configure(**NEW)
        joined.live(60)
        assert joined.lab.shelter.drained == 1
        assert not joined.lab.shelter.cordoned
        assert joined.events[-2:] == ["Draining", "ConfigurationApplied"]
        assert (joined.status.needs, joined.status.healthy) == ("", True)

    def test_pods_that_may_not_go_keep_the_node_as_it_is_until_they_may(self, joined: World) -> None:
        """Row 25: cordoned, reported with what is in the way, and tried again by itself."""
        joined.lab.shelter.refuses = BUDGET
        joined.configure(**NEW)
        joined.live(600)
        assert joined.state.current == make_node().id
        assert joined.lab.host.writes == []
        assert joined.lab.shelter.cordoned
        assert joined.work.asked.count("bootstrap") > 3
        assert joined.events.count("Draining") == 1
        assert (joined.status.reason, joined.status.needs) == ("ChangeFailed", "drain")
        assert "web-budget" in joined.status.message
        assert "web-budget" in joined.condition["message"]
        joined.lab.shelter.refuses = None
        joined.live(400)
        assert joined.state.current == make_node(kubelet="1.35.0").id
        assert not joined.lab.shelter.cordoned
        assert joined.status.healthy

    def test_a_restart_of_the_agent_forgets_neither_the_change_nor_whose_cordon_it_is(
        self, joined: World
    ) -> None:
        joined.lab.shelter.refuses = BUDGET
        joined.configure(**NEW)
        joined.live(60)
        joined.boot()
        joined.lab.shelter.refuses = None
        joined.live(400)
        assert joined.state.current == make_node(kubelet="1.35.0").id
        assert not joined.lab.shelter.cordoned

    @pytest.mark.parametrize("restarted", [False, True])
    def test_a_change_that_is_taken_back_gives_the_node_its_pods_again(
        self, joined: World, restarted: bool
    ) -> None:
        joined.lab.shelter.refuses = BUDGET
        joined.configure(**NEW)
        joined.live(60)
        joined.configure()
        if restarted:
            joined.boot()
        joined.live(60)
        assert not joined.lab.shelter.cordoned
        assert joined.work.asked.count("release") == 1
        assert joined.events[-1] == "Uncordoned"
        assert joined.lab.host.writes == []
        assert joined.status.healthy

    def test_a_node_that_no_version_gets_ready_stays_cordoned_until_one_does(self, joined: World) -> None:
        joined.lab.verify.failing |= {"1.34.0", "1.35.0"}
        joined.configure(**NEW)
        joined.live(600)
        assert joined.lab.shelter.cordoned
        assert joined.state.current == make_node().id
        assert not joined.status.healthy
        joined.lab.verify.failing.discard("1.34.0")
        joined.live(400)
        assert not joined.lab.shelter.cordoned
        assert joined.work.asked.count("bootstrap") == 2  # the second is refused: it was rejected

    def test_what_takes_a_boot_drains_reboots_and_is_in_place_after_it(self, joined: World) -> None:
        joined.lab.host.files.place(BOOT_ID, "the first boot\n")
        joined.configure(host={"modules": ["quiet"]})
        joined.live(5)
        assert joined.lab.host.writes == ["write /etc/boot-quiet", "reboot"]
        assert joined.lab.shelter.cordoned
        assert joined.state.current == make_node().id
        assert joined.events[-2:] == ["Draining", "Rebooting"]
        assert joined.status.needs == "reboot"
        joined.lab.host.files.place(BOOT_ID, "the second boot\n")
        joined.lab.activation.prepare_boot()
        joined.boot()
        joined.live(60)
        assert joined.work.asked == ["recover"]
        assert joined.state.current != make_node().id
        assert joined.lab.host.writes.count("reboot") == 1
        assert not joined.lab.shelter.cordoned
        assert joined.events[-1] == "Recovered"
        assert (joined.status.needs, joined.status.healthy) == ("", True)

    def test_a_node_that_a_person_cordoned_stays_cordoned(self, joined: World) -> None:
        """Row 27."""
        joined.lab.shelter.cordoned = True
        joined.configure(**NEW)
        joined.live(600)
        assert joined.state.current == make_node(kubelet="1.35.0").id
        assert joined.lab.shelter.cordoned
        assert "release" not in joined.work.asked

    def test_what_does_not_work_is_rolled_back_and_not_tried_again(self, joined: World) -> None:
        joined.lab.verify.failing.add("1.35.0")
        joined.configure(**NEW)
        joined.live(7200)
        assert joined.work.asked.count("bootstrap") == 1
        assert joined.state.current == make_node().id
        assert (joined.status.reason, joined.status.retry_at) == ("ChangeFailed", None)
        assert joined.condition["status"] == "False"
        assert "RolledBack" in joined.events

    def test_not_even_after_a_restart_of_the_agent(self, joined: World) -> None:
        joined.lab.verify.failing.add("1.35.0")
        joined.configure(**NEW)
        joined.live(60)
        joined.boot()
        joined.live(600)
        assert "bootstrap" not in joined.work.asked
        assert joined.status.reason == "ChangeFailed"

    def test_a_change_back_ends_the_failure(self, joined: World) -> None:
        joined.lab.verify.failing.add("1.35.0")
        joined.configure(**NEW)
        joined.live(60)
        joined.configure()
        joined.live(60)
        assert joined.status.healthy
        assert joined.state.current == make_node().id


class TestAdoption:
    def test_a_new_agent_takes_the_node_as_it_is(self, joined: World) -> None:
        """Another version may compose another node from the same configuration."""
        joined.boot()
        joined.live(600)
        assert "bootstrap" not in joined.work.asked
        assert joined.lab.host.writes == []

    def test_a_node_that_a_person_bootstrapped_is_taken_as_it_is(self, world: World) -> None:
        world.lab.activation.activate(make_node(kubelet="1.35.0"), operation="bootstrap", inputs="by hand")
        world.lab.host.writes.clear()
        world.live(600)
        assert world.work.asked == ["check"]
        assert world.lab.host.writes == []

    def test_a_generation_that_a_person_went_back_to_is_kept(self, joined: World) -> None:
        joined.configure(**NEW)
        joined.live(60)
        joined.lab.activation.rollback()
        joined.live(7200)
        assert joined.state.current == make_node().id

    def test_a_change_that_came_while_no_agent_ran_is_applied(self, joined: World) -> None:
        joined.configure(**NEW)
        joined.boot()
        joined.live(60)
        assert joined.state.current == make_node(kubelet="1.35.0").id


class TestPreparedMachine:
    @pytest.fixture
    def prepared(self, world: World) -> World:
        """By a person, or in the image that it was started from; the configuration comes later."""
        world.lab.activation.activate(make_node().baked(), operation="prepare")
        world.lab.host.writes.clear()
        world.config_file.unlink()
        return world

    def test_it_waits_for_a_configuration_and_says_so(self, prepared: World) -> None:
        prepared.live(7200)
        assert prepared.work.asked == []
        assert prepared.lab.host.writes == []
        status = prepared.status
        assert (status.phase, status.reason, status.prepared) == ("waiting", "Prepared", True)
        assert status.generation == make_node().baked().id
        assert status.failure is not None
        assert status.failure.code == "config/not-found"

    def test_it_joins_as_soon_as_there_is_one(self, prepared: World) -> None:
        prepared.live(60)
        prepared.configure()
        prepared.live(60)
        assert prepared.work.asked == ["bootstrap"]
        assert prepared.state.current == make_node().id
        assert "Bootstrapped" in prepared.events
        assert prepared.status.healthy
        assert not prepared.status.prepared

    def test_a_join_that_does_not_work_is_kept_told_and_tried_again(self, prepared: World) -> None:
        """The cluster may know the node by now: going back would leave it there."""

        def verify(*_: object) -> None:
            raise HostError("not Ready yet", code="node/not-ready", transient=True)

        works = prepared.lab.verify
        prepared.lab.verify = verify  # type: ignore[assignment]
        prepared.configure()
        prepared.live(3600)
        assert prepared.work.asked.count("bootstrap") > 3
        assert prepared.lab.host.units.is_active(KUBELET)
        assert (prepared.status.reason, prepared.status.phase) == ("BootstrapFailed", "waiting")
        assert "RolledBack" not in prepared.events
        assert prepared.state.rejected == {}
        prepared.lab.verify = works
        prepared.live(600)
        assert prepared.state.current == make_node().id
        assert prepared.status.healthy

    def test_preparing_that_was_cut_off_is_ended_and_nothing_more(self, world: World) -> None:
        world.config_file.unlink()

        def die(moment: str) -> None:
            if moment.startswith("before start containerd"):
                raise Crash(moment)

        world.lab.host.hook = die
        with pytest.raises(Crash):
            world.lab.activation.activate(make_node().baked(), operation="prepare")
        world.lab.host.hook = lambda _moment: None
        world.live(60)
        assert world.work.asked == ["recover"]
        assert world.state.current == make_node().baked().id
        assert world.status.reason == "Prepared"
        assert world.events == []


class TestDrift:
    def test_a_managed_file_that_somebody_edits_is_put_back_at_once(self, joined: World) -> None:
        before = joined.lab.host.files.read(DRIFT)
        joined.edit(DRIFT, "[Service]\nExecStart=/bin/false\n")
        joined.live(10)
        assert joined.work.asked == ["check", "repair"]
        assert joined.lab.host.files.read(DRIFT) == before
        assert "DriftRepaired" in joined.events
        joined.live(60)
        assert joined.status.healthy
        assert joined.status.drift == ()

    def test_what_no_event_tells_of_is_found_by_the_full_check(self, joined: World) -> None:
        joined.lab.host.kernel.sysctls["net.ipv4.ip_forward"] = "0"
        joined.live(3700)
        assert joined.lab.host.kernel.sysctls["net.ipv4.ip_forward"] == "1"

    def test_the_full_check_comes_as_often_as_was_configured(self, joined: World) -> None:
        joined.configure(agent={"fullCheckInterval": "10m"})
        joined.live(60)
        joined.lab.host.kernel.sysctls["net.ipv4.ip_forward"] = "0"
        joined.live(660)
        assert joined.lab.host.kernel.sysctls["net.ipv4.ip_forward"] == "1"

    def test_every_file_is_read_again_by_the_full_check_and_when_asked(self, joined: World) -> None:
        """What is remembered of files says nothing about a disk that rots."""
        joined.edit(DRIFT, "mine")
        joined.live(3000)
        assert joined.work.asked == ["check", "repair"]
        joined.live(700)
        assert joined.work.asked == ["check", "repair", "examine"]
        joined.bell.again = True
        joined.live(10)
        assert joined.work.asked[-1] == "examine"
        assert len(joined.work.asked) == 4
        joined.work.broken["examine"] = HostError("the disk is dying", code="host/io", hint="see dmesg")
        joined.live(3 * 3600)
        assert 3 <= joined.work.asked.count("examine") <= 6

    def test_a_policy_to_report_changes_nothing(self, joined: World) -> None:
        joined.configure(agent={"drift": "report"})
        joined.live(60)
        joined.work.asked.clear()
        joined.edit(DRIFT, "mine\n")
        joined.live(600)
        assert "repair" not in joined.work.asked
        assert joined.lab.host.files.read(DRIFT) == b"mine\n"
        assert joined.status.drift == (f"file:{DRIFT}",)
        assert (joined.status.reason, joined.condition["status"]) == ("Drifted", "False")

    def test_a_policy_holds_while_the_configuration_is_broken(self, joined: World) -> None:
        joined.configure(agent={"drift": "report"})
        joined.live(60)
        joined.write_config("{")
        joined.live(60)
        joined.edit(DRIFT, "mine\n")
        joined.live(600)
        joined.boot()
        joined.live(600)
        assert joined.lab.host.files.read(DRIFT) == b"mine\n"

    def test_who_changes_it_again_and_again_is_not_fought_forever(self, joined: World) -> None:
        for number in range(20):
            joined.edit(DRIFT, f"mine {number}\n")
            joined.live(60)
        assert joined.work.asked.count("repair") == 5
        assert joined.work.asked.count("check") < 25
        assert joined.status.reason == "Drifted"

    def test_the_count_survives_a_reboot(self, joined: World) -> None:
        for number in range(20):
            joined.edit(DRIFT, f"mine {number}\n")
            joined.live(15)
            if number == 7:
                joined.boot()
                joined.live(15)
        assert len(joined.agent.mind.repairs) == 5

    def test_a_repair_that_does_not_work_is_gone_on_with_later(self, joined: World) -> None:
        joined.lab.verify.failing.add("1.34.0")
        joined.edit(DRIFT, "mine\n")
        joined.live(600)
        assert joined.lab.directory.journal.exists()
        assert not joined.status.healthy
        joined.lab.verify.failing.clear()
        joined.configure(kubelet={"maxPods": 42})
        joined.live(600)
        assert not joined.lab.directory.journal.exists()
        assert joined.status.healthy

    def test_a_unit_that_somebody_stopped_is_drift(self, joined: World) -> None:
        joined.lab.host.units.stop("kubelet.service")
        joined.live(120)
        assert joined.lab.host.units.is_active("kubelet.service")
        assert "repair" in joined.work.asked


class TestHealth:
    def test_a_runtime_that_hangs_is_restarted(self, joined: World) -> None:
        units = joined.lab.host.units
        before = units.find("containerd.service").invocation
        joined.lab.host.runtime.up = False
        units.when_started["containerd.service"] = lambda: setattr(joined.lab.host.runtime, "up", True)
        joined.live(90)
        assert units.find("containerd.service").invocation != before
        joined.live(120)
        assert joined.status.healthy
        assert "ContainerdRestarted" in joined.events

    def test_one_that_no_restart_cures_is_left_alone_and_told(self, joined: World) -> None:
        joined.lab.host.runtime.up = False
        joined.live(1100)
        assert joined.lab.host.writes == ["restart containerd.service"] * 3
        assert joined.status.reason == "ContainerdUnhealthy"
        assert "did not help" in joined.status.message
        assert joined.condition["status"] == "False"

    def test_the_cap_holds_across_a_reboot(self, joined: World) -> None:
        joined.lab.host.runtime.up = False
        joined.live(500)
        joined.boot()
        joined.live(500)
        assert joined.lab.host.writes == ["restart containerd.service"] * 3

    def test_a_kubelet_that_says_it_is_ill_is_restarted(self, joined: World) -> None:
        joined.kubelet_fault = "it says so"
        joined.live(90)
        assert joined.lab.host.writes == ["restart kubelet.service"]

    def test_an_api_server_that_is_away_is_not_this_node_s_illness(self, joined: World) -> None:
        joined.reachable = False
        joined.live(7200)
        assert joined.lab.host.writes == []
        assert joined.status.healthy

    def test_nothing_is_touched_while_somebody_works_on_the_machine(self, joined: World) -> None:
        joined.lab.host.runtime.up = False
        with hold(joined.lab.directory.lock, "bootstrap by hand", clock=joined.clock):
            joined.live(600)
        assert joined.lab.host.writes == []


class TestLeaving:
    def test_a_machine_that_left_stays_so_also_after_a_reboot(self, joined: World) -> None:
        leave(joined.lab)
        joined.live(600)
        joined.boot()
        joined.live(600)
        assert joined.work.asked == []
        assert (joined.status.phase, joined.status.desired) == ("idle", Desired.LEFT)
        assert not (joined.lab.directory.root / "agent.json").exists()

    def test_a_changed_configuration_does_not_bring_it_back(self, joined: World) -> None:
        leave(joined.lab)
        joined.configure(**NEW)
        joined.bell.again = True
        joined.live(600)
        assert joined.state.current is None

    def test_a_person_s_bootstrap_does(self, joined: World) -> None:
        leave(joined.lab)
        joined.live(60)
        joined.lab.activation.activate(make_node(), operation="bootstrap")
        joined.live(120)
        assert joined.status.phase == "supervising"
        assert joined.status.healthy

    def test_leaving_that_was_cut_off_is_brought_to_its_end(self, joined: World) -> None:
        def refuse(_moment: str) -> None:
            raise HostError("the disk is full", code="host/no-space", transient=True)

        joined.lab.host.hook = refuse
        with pytest.raises(FlexError):
            leave(joined.lab)
        joined.lab.host.hook = lambda _moment: None
        joined.live(600)
        assert joined.status.phase == "idle"
        assert joined.lab.host.files.find(DRIFT) is None


class TestCutOff:
    def test_an_upgrade_that_was_cut_off_is_gone_on_with(self, joined: World) -> None:
        def stop(*_: object) -> None:
            raise Stopped

        verify, joined.lab.verify = joined.lab.verify, stop  # type: ignore[assignment]
        with pytest.raises(Stopped):
            joined.lab.activation.activate(make_node(kubelet="1.35.0"), operation="upgrade")
        joined.lab.verify = verify
        joined.configure(**NEW)
        joined.boot()
        joined.live(60)
        assert joined.work.asked[0] == "recover"
        assert joined.state.current == make_node(kubelet="1.35.0").id
        assert not joined.lab.directory.journal.exists()

    def test_asked_to_stop_an_operation_ends_where_it_can_be_gone_on_with(self, world: World) -> None:
        world.lab.host.hook = lambda _moment: setattr(world.bell, "stop", True)
        world.agent.turn()
        assert world.lab.directory.journal.exists()
        assert world.state.current is None
        world.lab.host.hook = lambda _moment: None
        world.boot()
        world.live(60)
        assert world.status.healthy


class TestTelling:
    def test_a_cluster_that_was_away_hears_everything_once_it_is_back(self, world: World) -> None:
        world.reachable = False
        world.live(600)
        assert world.condition == {}
        world.reachable = True
        world.live(120)
        assert world.condition["status"] == "True"
        assert world.events == ["Bootstrapped"]

    def test_at_rest_the_cluster_is_asked_little(self, joined: World) -> None:
        joined.cluster.requests.clear()
        joined.live(3600)
        assert len(joined.cluster.requests) <= 2 * 13

    def test_at_rest_it_looks_once_a_minute(self, joined: World) -> None:
        joined.clock.slept.clear()
        joined.live(1800)
        assert len(joined.clock.slept) <= 62

    def test_another_log_is_written_at_once(self, joined: World) -> None:
        opened: list[tuple[str, str]] = []
        joined.agent.open_log = lambda spec: opened.append((spec.log_directory, spec.log_level))
        joined.configure(agent={"logLevel": "debug", "logDirectory": "/var/log/edge"})
        joined.live(60)
        assert opened == [("/var/log/edge", "debug")]

    def test_labels_and_annotations_of_the_configuration_stand_on_the_node(self, joined: World) -> None:
        joined.configure(
            node={"labels": {"example.com/rack": "17"}, "annotations": {"example.com/note": "hi"}}
        )
        joined.live(120)
        document = joined.cluster.get(f"{NODES}/{NODE}")
        assert document is not None
        assert document["metadata"]["labels"]["example.com/rack"] == "17"
        assert document["metadata"]["annotations"]["example.com/note"] == "hi"
        joined.configure()
        joined.live(120)
        document = joined.cluster.get(f"{NODES}/{NODE}")
        assert document is not None
        assert "example.com/rack" not in document["metadata"]["labels"]

    def test_taints_are_an_administrator_s_and_the_command_is_given(self, joined: World) -> None:
        joined.configure(node={"taints": ["example.com/gpu:NoSchedule"]})
        joined.live(400)
        assert joined.status.advice == (f"kubectl taint nodes {NODE} example.com/gpu:NoSchedule --overwrite",)

    def test_the_status_is_for_everybody_and_holds_no_secret(self, joined: World) -> None:
        path = joined.folder / "run" / "status.json"
        assert path.stat().st_mode & 0o777 == 0o644
        assert "0123456789abcdef" not in path.read_text()

    def test_state_of_a_newer_version_is_told_and_left_alone(self, joined: World) -> None:
        joined.lab.directory.state.write_bytes(seal({}, schema=99))
        joined.live(600)
        assert joined.work.asked == []
        assert joined.status.failure is not None
        assert joined.status.failure.code == "state/newer-version"
        assert joined.status.reason == "StateUnusable"


class TestTroubleOfItsOwn:
    def test_a_disk_that_takes_nothing_costs_the_memory_and_not_the_agent(self, joined: World) -> None:
        (joined.lab.directory.root / ".agent.json.new").mkdir()  # in the way of every write of its memory
        joined.lab.host.runtime.up = False
        joined.live(600)
        assert "restart containerd.service" in joined.lab.host.writes
        assert joined.status.reason == "ContainerdUnhealthy"

    def test_memory_of_a_newer_version_is_left_alone(self, joined: World) -> None:
        path = joined.lab.directory.root / "agent.json"
        path.write_bytes(seal({}, schema=99))
        before = path.read_bytes()
        joined.boot()
        joined.live(120)
        assert joined.status.healthy
        assert path.read_bytes() == before

    def test_it_runs_until_it_is_told_to_stop(self, world: World) -> None:
        waits: list[float] = []

        def wait(seconds: float, _sources: object = ()) -> None:
            waits.append(seconds)
            world.bell.stop = len(waits) == 3
            world.clock.sleep(seconds)

        world.bell.wait = wait  # type: ignore[method-assign]
        assert not world.agent.run()
        assert len(waits) == 3
        assert max(waits) <= 60
        assert world.status.healthy

    def test_grown_by_its_work_it_begins_anew_once_and_goes_on_as_it_was(self, world: World) -> None:
        waits: list[float] = []

        def wait(seconds: float, _sources: object = ()) -> None:
            waits.append(seconds)
            world.bell.stop = True

        world.agent.has_grown = lambda: True
        world.bell.wait = wait  # type: ignore[method-assign]
        assert world.agent.run()
        assert waits == []
        assert world.status.healthy
        assert world.work.asked == ["bootstrap"]
        generation = world.state.current

        world.boot()
        world.agent.has_grown = lambda: True
        world.bell.wait = wait  # type: ignore[method-assign]
        assert not world.agent.run(), "what it holds without any work is what it needs"
        assert waits
        assert world.state.current == generation
        assert set(world.work.asked) <= {"check"}
