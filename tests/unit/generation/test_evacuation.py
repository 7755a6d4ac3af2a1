"""Pods leave a node before what they rely on changes, and come back once it works: never earlier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from flexnode.errors import FlexError, GenerationError, HostError
from flexnode.generation import Generation, Moment, Name, NodeState, Result, Stopped, compose
from flexnode.generation.judge import BOOT_ID
from flexnode.resources import Disruption
from unit.generation.samples import KUBELETS, Crash, Lab, make_node, text

FIRST = make_node()
NEXT = make_node(kubelet="1.35.0")
CHANGED = make_node(containerd_config="version = 3\nchanged = true\n")
BUDGET = FlexError("default/web-1 may not go: web-budget", code="drain/timeout", transient=True)
FLAGS = "/etc/boot-flags"
MOMENTS = (
    "begin drain",
    "before cordon",
    "after cordon",
    "after drain",
    "begin journal opened",
    "begin apply",
    "before restart kubelet",
    "end verify",
    "begin confirm",
    "end confirm",
    "begin collect",
    # Nobody gets here with the cordon of a person.
    "begin uncordon",
    "before uncordon",
    "after uncordon",
)


def with_boot_flags(flags: str, base: Generation = FIRST) -> Generation:
    """A node with something in it that the kernel looks at only when it boots."""
    flagged = text(FLAGS, flags, disruption=Disruption.REBOOT)
    return compose((flagged, *base.resources), needs=base.needs, kubernetes=base.kubernetes)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A node of the first generation."""
    lab = Lab(tmp_path / "state")
    lab.host.files.place(BOOT_ID, "the first boot\n")
    assert lab.activation.activate(FIRST, inputs="first").result is Result.CONFIRMED
    lab.host.writes.clear()
    return lab


def state_of(lab: Lab) -> NodeState:
    state = lab.directory.load_state().value
    assert state is not None
    return state


def observe(lab: Lab) -> list[str]:
    """What happens from now on: steps and changes of the machine, in order."""
    told: list[str] = []

    def watch(moment: Moment, name: Name, _key: str) -> None:
        told.append(f"{moment} {name}")

    lab.observer = watch
    lab.host.hook = told.append
    return told


def die(lab: Lab, at: str, act: Callable[[], object]) -> None:
    """Kill -9 at the first moment, of the machine or of the operation, that begins so."""

    def crash(moment: str) -> None:
        if moment.startswith(at):
            raise Crash(moment)

    lab.host.hook = crash
    lab.observer = lambda moment, name, key: crash(f"{moment} {name} {key}")
    with pytest.raises(Crash):
        act()
    lab.host.hook = lambda _moment: None
    lab.observer = lambda _moment, _name, _key: None


def boot(lab: Lab, name: str) -> None:
    lab.host.files.place(BOOT_ID, f"{name}\n")
    lab.activation.prepare_boot()


class TestWhatItCosts:
    def test_another_minor_version_costs_a_drain(self, lab: Lab) -> None:
        plan = lab.activation.plan(NEXT)
        assert plan.disruption is Disruption.DRAIN
        assert {each.key for each in plan.changes if each.disruption is Disruption.DRAIN} == {
            "file:/usr/local/bin/kubelet"
        }

    def test_a_patch_of_it_costs_a_restart(self, lab: Lab) -> None:
        patched = list(FIRST.resources)
        number = next(n for n, each in enumerate(patched) if each.key == "file:/usr/local/bin/kubelet")
        newer = NEXT.find("file:/usr/local/bin/kubelet")
        assert newer is not None
        patched[number] = msgspec.structs.replace(patched[number], want=newer.want)
        target = Generation(resources=tuple(patched), needs=(*FIRST.needs, *NEXT.needs), kubernetes="1.34.1")
        assert lab.activation.plan(target).disruption is Disruption.RESTART_KUBELET
        assert lab.activation.activate(target).result is Result.CONFIRMED
        assert lab.shelter.drained == 0

    def test_a_machine_that_is_no_node_yet_has_no_pods_to_move(self, tmp_path: Path) -> None:
        lab = Lab(tmp_path / "state")
        assert lab.activation.plan(NEXT).disruption < Disruption.DRAIN
        assert lab.activation.activate(NEXT).result is Result.CONFIRMED
        assert lab.shelter.drained == 0

    def test_putting_back_what_somebody_changed_moves_no_pod(self, lab: Lab) -> None:
        """Its pods were started with what is put back."""
        lab.host.files.place("/usr/local/bin/kubelet", KUBELETS["1.35.0"].decode(), mode=0o755)
        assert lab.activation.plan(FIRST).disruption is Disruption.RESTART_KUBELET
        assert lab.activation.activate(FIRST).changes
        assert lab.shelter.drained == 0

    def test_a_change_that_pods_can_stay_for_leaves_them(self, lab: Lab) -> None:
        assert lab.activation.activate(CHANGED).result is Result.CONFIRMED
        assert lab.shelter.drained == 0
        assert not state_of(lab).cordoned


class TestGoingForward:
    def test_pods_leave_before_the_first_change_and_come_after_the_last_word(self, lab: Lab) -> None:
        told = observe(lab)
        outcome = lab.activation.activate(NEXT)
        assert outcome.result is Result.CONFIRMED
        assert outcome.disruption is Disruption.DRAIN
        moments = [
            "end stage",
            "before cordon",
            "end drain",
            "begin apply",
            "end verify",
            "end confirm",
            "before uncordon",
        ]
        assert sorted(moments, key=told.index) == moments
        assert not lab.shelter.cordoned
        assert not state_of(lab).cordoned

    def test_that_it_is_the_product_s_cordon_is_known_before_it_is_one(self, lab: Lab) -> None:
        seen: list[bool] = []
        lab.host.hook = lambda moment: seen.append(state_of(lab).cordoned) if "cordon" in moment else None
        lab.activation.activate(NEXT)
        assert seen[0]

    def test_one_that_a_person_had_cordoned_stays_so(self, lab: Lab) -> None:
        """Row 27."""
        lab.shelter.cordoned = True
        assert lab.activation.activate(NEXT).result is Result.CONFIRMED
        assert lab.shelter.drained == 1
        assert lab.shelter.cordoned
        assert not state_of(lab).cordoned

    def test_pods_that_may_not_go_keep_the_machine_as_it_is(self, lab: Lab) -> None:
        """Row 25: said, cordoned, and nothing to recover from."""
        before = lab.host.snapshot(times=True)
        lab.shelter.refuses = BUDGET
        with pytest.raises(FlexError, match="web-budget"):
            lab.activation.activate(NEXT)
        assert lab.host.snapshot(times=True) == before
        assert lab.shelter.cordoned
        assert not lab.directory.journal.exists()
        state = state_of(lab)
        assert (state.current, state.rejected) == (FIRST.id, {})
        lab.shelter.refuses = None
        assert lab.activation.activate(NEXT).result is Result.CONFIRMED
        assert not lab.shelter.cordoned

    def test_the_time_that_pods_take_is_not_the_node_s(self, lab: Lab) -> None:
        lab.host.hook = lambda moment: lab.clock.sleep(3000) if moment == "before cordon" else None
        assert lab.activation.activate(NEXT, seconds=60).result is Result.CONFIRMED

    def test_a_drain_that_is_interrupted_is_gone_on_with(self, lab: Lab) -> None:
        lab.shelter.refuses = Stopped()
        with pytest.raises(Stopped):
            lab.activation.activate(NEXT)
        assert not lab.directory.journal.exists()
        lab.shelter.refuses = None
        assert lab.activation.activate(NEXT).result is Result.CONFIRMED
        assert not lab.shelter.cordoned

    def test_a_change_that_is_taken_back_gives_the_node_its_pods_again(self, lab: Lab) -> None:
        lab.shelter.refuses = BUDGET
        with pytest.raises(FlexError):
            lab.activation.activate(NEXT)
        assert lab.activation.activate(FIRST, inputs="first").result is Result.UNCHANGED
        assert not lab.shelter.cordoned
        assert lab.host.writes == []

    def test_but_not_to_a_node_that_does_not_work(self, lab: Lab) -> None:
        lab.shelter.refuses = BUDGET
        with pytest.raises(FlexError):
            lab.activation.activate(NEXT)
        lab.verify.failing.add("1.34.0")
        with pytest.raises(HostError):
            lab.activation.activate(FIRST, inputs="first")
        assert lab.shelter.cordoned
        assert state_of(lab).cordoned

    def test_a_node_that_nobody_cordoned_is_not_verified_for_nothing(self, lab: Lab) -> None:
        lab.verify.seen.clear()
        lab.activation.activate(FIRST)
        assert lab.activation.release().result is Result.UNCHANGED
        assert lab.verify.seen == []

    def test_a_cordon_that_could_not_be_taken_away_is_told_and_taken_away_later(self, lab: Lab) -> None:
        lab.observer = lambda moment, name, _key: setattr(
            lab.shelter, "silent", lab.shelter.silent or (moment, name) == ("end", "confirm")
        )
        outcome = lab.activation.activate(NEXT)
        assert outcome.result is Result.CONFIRMED
        assert outcome.reservations == ("the node is still cordoned: nobody answers",)
        assert not lab.directory.journal.exists()
        lab.observer = lambda _moment, _name, _key: None
        lab.shelter.silent = False
        assert lab.activation.release().result is Result.UNCHANGED
        assert not lab.shelter.cordoned

    def test_it_does_not_keep_the_machine_from_leaving(self, lab: Lab) -> None:
        lab.shelter.refuses = BUDGET
        with pytest.raises(FlexError):
            lab.activation.activate(NEXT)
        lab.shelter.silent = True
        assert lab.activation.activate(Generation()).result is Result.LEFT
        assert not state_of(lab).cordoned

    def test_nothing_is_released_while_an_operation_is_open(self, lab: Lab) -> None:
        die(lab, "before restart kubelet", lambda: lab.activation.activate(NEXT))
        with pytest.raises(GenerationError, match="no generation is confirmed"):
            lab.activation.release()
        assert lab.shelter.cordoned


class TestGoingBack:
    def test_pods_come_again_once_it_is_ready_as_it_was(self, lab: Lab) -> None:
        lab.verify.failing.add("1.35.0")
        told = observe(lab)
        outcome = lab.activation.activate(NEXT)
        assert outcome.result is Result.ROLLED_BACK
        assert lab.shelter.drained == 1
        assert not lab.shelter.cordoned
        assert told.index("failed verify") < told.index("end verify") < told.index("before uncordon")

    def test_a_node_that_no_generation_gets_ready_stays_cordoned(self, lab: Lab) -> None:
        lab.verify.failing |= {"1.34.0", "1.35.0"}
        assert lab.activation.activate(NEXT).result is Result.DEGRADED
        assert lab.shelter.cordoned
        lab.verify.failing.clear()
        lab.activation.release()
        assert not lab.shelter.cordoned

    def test_the_way_back_asks_no_cluster(self, lab: Lab) -> None:
        lab.verify.failing.add("1.35.0")
        lab.host.hook = lambda moment: setattr(lab.shelter, "silent", True) if "kubelet" in moment else None
        outcome = lab.activation.activate(NEXT)
        assert outcome.result is Result.ROLLED_BACK
        assert state_of(lab).cordoned

    def test_a_person_who_goes_back_moves_the_pods_too(self, lab: Lab) -> None:
        lab.activation.activate(NEXT)
        assert lab.activation.rollback().result is Result.CONFIRMED
        assert lab.shelter.drained == 2
        assert not lab.shelter.cordoned


class TestBeingCutOff:
    @pytest.mark.parametrize(
        ("at", "person"), [*((at, False) for at in MOMENTS), *((at, True) for at in MOMENTS[:-3])]
    )
    def test_it_ends_as_if_nothing_had_happened(self, lab: Lab, at: str, person: bool) -> None:
        """`person`: somebody had cordoned it. The walk in tests/faults dies at all moments."""
        lab.shelter.cordoned = person
        die(lab, at, lambda: lab.activation.activate(NEXT))
        lab.activation.recover()
        lab.activation.activate(NEXT)
        assert state_of(lab).current == NEXT.id
        assert lab.shelter.cordoned is person
        assert not state_of(lab).cordoned

    def test_who_uncordons_it_meanwhile_does_not_lose_the_pods_that_come(self, lab: Lab) -> None:
        """Row 26: they are moved away before anything goes on."""
        die(lab, "before restart kubelet", lambda: lab.activation.activate(NEXT))
        lab.shelter.cordoned = False
        told = observe(lab)
        outcome = lab.activation.recover()
        assert outcome is not None
        assert outcome.result is Result.CONFIRMED
        assert lab.shelter.drained == 2
        assert told.index("end drain") < told.index("before restart kubelet.service")
        assert not lab.shelter.cordoned

    def test_while_they_may_not_go_it_waits_and_gives_nothing_up(self, lab: Lab) -> None:
        die(lab, "before restart kubelet", lambda: lab.activation.activate(NEXT))
        lab.shelter.cordoned = False
        lab.shelter.refuses = BUDGET
        lab.host.writes.clear()
        for _ in range(5):
            with pytest.raises(FlexError, match="web-budget"):
                lab.activation.recover()
        assert lab.host.writes == []
        assert lab.shelter.cordoned
        lab.shelter.refuses = None
        outcome = lab.activation.recover()
        assert outcome is not None
        assert outcome.result is Result.CONFIRMED

    def test_the_boot_asks_no_cluster(self, lab: Lab) -> None:
        """The network comes later."""
        die(lab, "before uncordon", lambda: lab.activation.activate(NEXT))
        lab.shelter.silent = True
        lab.host.writes.clear()
        boot(lab, "the second boot")
        assert lab.host.writes == []
        lab.shelter.silent = False
        lab.activation.recover()
        assert not lab.shelter.cordoned


class TestReboot:
    """No setting of today needs one; what will is carried out like this."""

    FLAGGED = with_boot_flags("quiet")

    def test_pods_leave_then_the_machine_goes_down_and_nothing_is_confirmed(self, lab: Lab) -> None:
        told = observe(lab)
        outcome = lab.activation.activate(self.FLAGGED)
        assert (outcome.result, outcome.disruption) == (Result.REBOOTING, Disruption.REBOOT)
        assert outcome.failure is not None
        assert outcome.failure.code == "generation/rebooting"
        assert lab.host.writes[-1] == "reboot"
        assert told.index("end drain") < told.index(f"before write {FLAGS}") < told.index("before reboot")
        assert "begin verify" not in told
        assert state_of(lab).current == FIRST.id
        assert lab.shelter.cordoned
        assert lab.directory.journal.exists()

    def test_the_next_boot_verifies_confirms_and_lets_pods_come(self, lab: Lab) -> None:
        lab.activation.activate(self.FLAGGED)
        boot(lab, "the second boot")
        lab.host.writes.clear()
        outcome = lab.activation.recover()
        assert outcome is not None
        assert outcome.result is Result.CONFIRMED
        assert "reboot" not in lab.host.writes
        assert state_of(lab).current == self.FLAGGED.id
        assert not lab.shelter.cordoned

    def test_until_it_has_come_it_is_asked_for_again(self, lab: Lab) -> None:
        lab.activation.activate(self.FLAGGED)
        outcome = lab.activation.recover()
        assert outcome is not None
        assert outcome.result is Result.REBOOTING
        assert lab.host.writes.count("reboot") == 2

    @pytest.mark.parametrize("times", [1, 5])
    def test_a_systemd_that_refuses_gives_nothing_up(self, lab: Lab, times: int) -> None:
        def refuse(moment: str) -> None:
            if moment == "before reboot":
                raise HostError("systemd does not answer", code="host/systemd-down", transient=True)

        lab.host.hook = refuse
        outcome = lab.activation.activate(self.FLAGGED)
        for _ in range(times):
            assert outcome is not None
            assert outcome.result is Result.DEGRADED
            assert outcome.failure is not None
            assert outcome.failure.code == "host/systemd-down"
            outcome = lab.activation.recover()
        lab.host.hook = lambda _moment: None
        outcome = lab.activation.recover()
        assert outcome is not None
        assert outcome.result is Result.REBOOTING

    def test_pods_that_came_meanwhile_are_not_killed_by_it(self, lab: Lab) -> None:
        """Rows 25 and 26."""

        def uncordon(moment: str) -> None:
            if moment == f"after write {FLAGS}":
                lab.shelter.cordoned = False
                lab.shelter.refuses = BUDGET

        lab.host.hook = uncordon
        outcome = lab.activation.activate(self.FLAGGED)
        assert outcome.result is Result.DEGRADED
        assert outcome.failure is not None
        assert "web-budget" in outcome.failure.message
        assert "reboot" not in lab.host.writes
        assert lab.shelter.cordoned
        lab.host.hook = lambda _moment: None
        lab.shelter.refuses = None
        again = lab.activation.recover()
        assert again is not None
        assert again.result is Result.REBOOTING

    def test_what_does_not_work_after_it_goes_back_by_another_one(self, lab: Lab) -> None:
        flagged = with_boot_flags("panic", NEXT)
        lab.verify.failing.add("1.35.0")
        assert lab.activation.activate(flagged).result is Result.REBOOTING
        boot(lab, "the second boot")
        back = lab.activation.recover()
        assert back is not None
        assert back.result is Result.REBOOTING
        assert lab.host.files.find(FLAGS) is None
        assert lab.shelter.cordoned
        boot(lab, "the third boot")
        outcome = lab.activation.recover()
        assert outcome is not None
        assert outcome.result is Result.ROLLED_BACK
        assert state_of(lab).current == FIRST.id
        assert list(state_of(lab).rejected) == [flagged.id]
        assert not lab.shelter.cordoned

    def test_what_never_took_effect_is_taken_back_without_one(self, lab: Lab) -> None:
        def fail(moment: str) -> None:
            if moment == "before write /etc/containerd/config.toml":
                raise HostError("no space", code="host/no-space", transient=False)

        lab.host.hook = fail
        outcome = lab.activation.activate(with_boot_flags("quiet", CHANGED))
        assert outcome.result is Result.ROLLED_BACK
        assert "reboot" not in lab.host.writes
        assert not lab.shelter.cordoned

    def test_a_machine_that_leaves_is_not_taken_down(self, lab: Lab) -> None:
        lab.activation.activate(self.FLAGGED)
        boot(lab, "the second boot")
        lab.activation.recover()
        lab.host.writes.clear()
        assert lab.activation.activate(Generation()).result is Result.LEFT
        assert "reboot" not in lab.host.writes

    @pytest.mark.parametrize(
        "at",
        [
            "before cordon",
            "after drain",
            f"after write {FLAGS}",
            "begin reboot",
            "before reboot",
            "after reboot",
        ],
    )
    @pytest.mark.parametrize("power", [False, True])
    def test_cut_off_anywhere_it_ends_the_same(self, lab: Lab, at: str, power: bool) -> None:
        """With a process that died the machine still has to boot; with its power, it did."""
        die(lab, at, lambda: lab.activation.activate(self.FLAGGED))
        if power:
            boot(lab, "the second boot")
        lab.activation.recover()
        if state_of(lab).current != self.FLAGGED.id:
            lab.activation.activate(self.FLAGGED)
            boot(lab, "the last boot")
            lab.activation.recover()
        assert state_of(lab).current == self.FLAGGED.id
        assert not lab.shelter.cordoned
        assert not lab.directory.journal.exists()
