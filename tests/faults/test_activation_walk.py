"""The fault matrix, rows 1, 3, 20 to 22: the process dies at every single moment, and another one goes on.

A moment is before or after every change of the machine, and the begin or end of every step: each write of
journal, ledger and state, each restart, verification, confirmation. However it went on, the machine and what
is kept about it have to end up just as if nothing had happened.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from flexnode.errors import GenerationError
from flexnode.generation import Generation, Moment, Name, Outcome, Result, compose
from flexnode.generation.judge import BOOT_ID
from flexnode.generation.recover import MAX_ATTEMPTS
from flexnode.host.door import Enablement
from flexnode.resources import Disruption
from unit.generation.samples import Crash, Lab, make_host, make_node, text

pytestmark = pytest.mark.slow

FIRST = make_node()
CHANGED = make_node(containerd_config="version = 3\nchanged = true\n")
NEXT = make_node(kubelet="1.35.0", containerd_config="version = 3\nnext = true\n")


FLAGGED = compose(
    (text("/etc/boot-flags", "quiet\n", disruption=Disruption.REBOOT), *FIRST.resources),
    needs=FIRST.needs,
    kubernetes=FIRST.kubernetes,
)


@dataclass
class Plug:
    """Counts the moments, and pulls the plug at one of them."""

    fatal: int = -1
    seen: list[str] = field(default_factory=list)

    def into(self, lab: Lab) -> Plug:
        lab.host.hook = self.tick
        lab.observer = self.watch
        return self

    def watch(self, moment: Moment, name: Name, key: str) -> None:
        self.tick(f"{moment} {name} {key}")

    def tick(self, moment: str) -> None:
        self.seen.append(moment)
        if len(self.seen) - 1 == self.fatal:
            raise Crash(moment)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """What a user or the agent asks for, again and again until it is so."""

    name: str
    ask: Callable[[Lab], Outcome | None]
    prepare: Callable[[Lab], object] = lambda lab: None


def bootstrap(lab: Lab) -> Outcome:
    return lab.activation.activate(FIRST, operation="bootstrap", inputs="first")


def change(lab: Lab) -> Outcome:
    return lab.activation.activate(CHANGED, operation="bootstrap", inputs="changed")


def upgrade(lab: Lab) -> Outcome | None:
    state = lab.directory.load_state().value
    if state is not None and NEXT.id in state.rejected:
        with pytest.raises(GenerationError, match="was rejected"):
            lab.activation.activate(NEXT, operation="upgrade", inputs="next")
        return None
    return lab.activation.activate(NEXT, operation="upgrade", inputs="next")


def reboot(lab: Lab) -> Outcome | None:
    """What takes effect only with a boot; the machine goes down when it is asked to."""
    outcome: Outcome | None = lab.activation.activate(FLAGGED, operation="bootstrap", inputs="flagged")
    while outcome is not None and outcome.result is Result.REBOOTING:
        lose_power(lab)
        try:
            lab.activation.prepare_boot()
        finally:
            boot(lab)  # which waits for it, but not for its success
        outcome = lab.activation.recover()
    repair(lab)
    lab.host.files.place(BOOT_ID, "the boot before\n")
    return outcome


def go_back(lab: Lab) -> Outcome | None:
    state = lab.directory.load_state().value
    assert state is not None
    return lab.activation.rollback() if state.current == NEXT.id else None


def unbootstrap(lab: Lab) -> Outcome:
    return lab.activation.activate(Generation(), operation="unbootstrap")


def joined(lab: Lab) -> None:
    bootstrap(lab)


def upgraded(lab: Lab) -> None:
    bootstrap(lab)
    upgrade(lab)


def with_broken_next(lab: Lab) -> None:
    bootstrap(lab)
    lab.verify.failing.add(NEXT.kubernetes)


def cordoned(lab: Lab) -> None:
    """By a person, who has a reason."""
    bootstrap(lab)
    lab.shelter.cordoned = True


def drifted(lab: Lab) -> None:
    bootstrap(lab)
    lab.host.files.place("/etc/containerd/config.toml", "edited\n")
    lab.host.units.stop("kubelet.service")


def edited(lab: Lab) -> None:
    """Files of the product that their user changed, one in place of an own one, one without."""
    bootstrap(lab)
    lab.host.files.place("/etc/crictl.yaml", "debug: false\n")
    lab.host.files.place("/etc/containerd/config.toml", "version = 3\nmine = true\n")


def prepare(lab: Lab) -> Outcome:
    return lab.activation.activate(FIRST.baked(), operation="prepare", inputs="prepared")


def prepared(lab: Lab) -> None:
    prepare(lab)


FLOWS = [
    Flow(name="bootstrap", ask=bootstrap),
    Flow(name="prepare", ask=prepare),
    Flow(name="join", prepare=prepared, ask=bootstrap),
    Flow(name="unbootstrap-of-a-prepared-machine", prepare=prepared, ask=unbootstrap),
    Flow(name="change", prepare=joined, ask=change),
    Flow(name="upgrade", prepare=joined, ask=upgrade),
    Flow(name="upgrade-of-a-cordoned-node", prepare=cordoned, ask=upgrade),
    Flow(name="reboot", prepare=joined, ask=reboot),
    Flow(name="upgrade-that-fails", prepare=with_broken_next, ask=upgrade),
    Flow(name="rollback", prepare=upgraded, ask=go_back),
    Flow(name="repair", prepare=drifted, ask=bootstrap),
    Flow(name="unbootstrap", prepare=joined, ask=unbootstrap),
    Flow(name="unbootstrap-of-an-upgraded-node", prepare=upgraded, ask=unbootstrap),
    Flow(name="unbootstrap-with-edited-files", prepare=edited, ask=unbootstrap),
]
every_flow = pytest.mark.parametrize("flow", FLOWS, ids=[flow.name for flow in FLOWS])


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a thing: a walk writes durably some ten thousand times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def make_lab(folder: Path, flow: Flow) -> Lab:
    folder.mkdir(parents=True)
    lab = Lab(folder / "state")
    lab.host.files.place(BOOT_ID, "the boot before\n")
    flow.prepare(lab)
    return lab


def ending(lab: Lab) -> dict[str, Any]:
    return {"host": lab.host.snapshot(), "memory": lab.memory()}


def differences(found: Any, wanted: Any, where: str = "") -> list[str]:
    if isinstance(found, dict) and isinstance(wanted, dict):
        keys = sorted(found.keys() | wanted.keys())
        return [
            each for key in keys for each in differences(found.get(key), wanted.get(key), f"{where}/{key}")
        ]
    return [] if found == wanted else [f"{where}: {found!r} instead of {wanted!r}"]


def run_and_die(lab: Lab, flow: Flow, moment: int, *, act: Callable[[Lab], object] | None = None) -> str:
    """Run until the moment comes; the name of the moment, or nothing if it never came."""
    plug = Plug(fatal=moment).into(lab)
    try:
        (act or flow.ask)(lab)
    except Crash as crash:
        return str(crash)
    finally:
        Plug().into(lab)
    assert len(plug.seen) <= moment
    return ""


def go_on(lab: Lab, flow: Flow) -> None:
    """The next process finishes what it finds; then what was asked for is asked again."""
    lab.activation.recover()
    flow.ask(lab)


@every_flow
def test_dying_at_any_moment_changes_nothing_about_the_end(flow: Flow, folder: Path) -> None:
    undisturbed = make_lab(folder / "undisturbed", flow)
    plug = Plug().into(undisturbed)
    flow.ask(undisturbed)
    wanted = ending(undisturbed)
    complaints = []
    for moment, name in enumerate(plug.seen):
        lab = make_lab(folder / str(moment), flow)
        assert run_and_die(lab, flow, moment) == name
        go_on(lab, flow)
        complaints += [f"died at {moment}, {name}: {each}" for each in differences(ending(lab), wanted)]
    assert len(plug.seen) > 30
    assert not complaints, "\n".join(complaints[:40])


@every_flow
def test_dying_again_while_going_on_changes_nothing_either(flow: Flow, folder: Path) -> None:
    """A sample: every first moment is followed by another one in the process that goes on."""
    undisturbed = make_lab(folder / "undisturbed", flow)
    plug = Plug().into(undisturbed)
    flow.ask(undisturbed)
    wanted = ending(undisturbed)
    complaints = []
    for first in range(3, len(plug.seen), len(plug.seen) // 12):
        second = first * 7919 % len(plug.seen)
        lab = make_lab(folder / str(first), flow)
        names = (
            run_and_die(lab, flow, first),
            run_and_die(lab, flow, second, act=lambda lab: go_on(lab, flow)),
        )
        go_on(lab, flow)
        complaints += [f"died at {names}: {each}" for each in differences(ending(lab), wanted)]
    assert not complaints, "\n".join(complaints[:40])


def test_a_first_join_that_does_not_work_is_never_taken_back(folder: Path) -> None:
    """Nor on a prepared machine, however often it is cut off: its cluster may know the Node by then."""
    join = Flow(name="join", prepare=prepared, ask=bootstrap)
    undisturbed = make_lab(folder / "undisturbed", join)
    plug = Plug().into(undisturbed)
    bootstrap(undisturbed)
    wanted = ending(undisturbed)
    complaints = []
    for moment in range(0, len(plug.seen), 5):
        lab = make_lab(folder / str(moment), join)
        lab.verify.failing.add(FIRST.kubernetes)
        name = run_and_die(lab, join, moment)
        results = {outcome.result for _ in range(MAX_ATTEMPTS + 1) if (outcome := lab.activation.recover())}
        if results - {Result.UNCONFIRMED} or lab.memory()["rejected"]:
            complaints.append(f"died at {moment}, {name}: {results}")
        lab.verify.failing.clear()
        bootstrap(lab)
        complaints += [f"died at {moment}, {name}: {each}" for each in differences(ending(lab), wanted)]
    assert not complaints, "\n".join(complaints[:40])


def lose_power(lab: Lab) -> None:
    """What ran is gone, and what the kernel was told; files stay, and what is enabled starts again."""
    host = lab.host
    for process in host.units.processes.values():
        process.active = process.failed = False
    host.kernel.loaded.clear()
    host.kernel.sysctls = dict(make_host().kernel.sysctls)
    host.kernel.swap[:] = [] if host.files.find("/etc/systemd/system/dev-sda2.swap") else ["/dev/sda2"]
    host.runtime.pods.clear()
    host.files.place(BOOT_ID, f"the boot after {host.files.read(BOOT_ID).decode()}")


def boot(lab: Lab) -> None:
    hook, lab.host.hook = lab.host.hook, lambda _moment: None  # no process of ours takes part that could die
    for name in ("systemd-journald.service", "multi-user.target", *ENABLED_IN_ORDER):
        if lab.host.units.find(name).enablement in (Enablement.ENABLED, Enablement.STATIC):
            lab.host.units.start(name)
    lab.host.hook = hook


ENABLED_IN_ORDER = (
    "ssh.service",
    "systemd-resolved.service",
    "systemd-timesyncd.service",
    "containerd.service",
    "kubelet.service",
)
TELLING = (
    "/etc/containerd/config.toml",
    "/usr/local/bin/kubelet",
    "/usr/local/bin/crictl",
    "/etc/kubernetes/kubelet.json",
    "/etc/systemd/system/containerd.service.d/10-limits.conf",
)


def telling_files(lab: Lab) -> dict[str, Any]:
    files = lab.host.snapshot()["files"]
    return {path: files.get(path) for path in TELLING}


@every_flow
def test_a_power_cut_at_any_moment_changes_nothing_about_the_end(flow: Flow, folder: Path) -> None:
    """Rows 3 and 22. Services that start by themselves find the files of one generation, never of two."""
    before = telling_files(make_lab(folder / "before", flow))
    undisturbed = make_lab(folder / "undisturbed", flow)
    plug = Plug().into(undisturbed)
    flow.ask(undisturbed)
    wanted = ending(undisturbed)
    whole = [before, telling_files(undisturbed), next_files(folder)]
    complaints = []
    for moment in range(0, len(plug.seen), 3):
        lab = make_lab(folder / str(moment), flow)
        name = run_and_die(lab, flow, moment)
        lose_power(lab)
        lab.activation.prepare_boot()
        if flow.ask not in (bootstrap, unbootstrap) and telling_files(lab) not in whole:
            complaints.append(f"died at {moment}, {name}: services started with files of two generations")
        boot(lab)
        go_on(lab, flow)
        repair(lab)
        lab.host.files.place(BOOT_ID, "the boot before\n")
        complaints += [f"died at {moment}, {name}: {each}" for each in differences(ending(lab), wanted)]
    assert not complaints, "\n".join(complaints[:40])


def repair(lab: Lab) -> None:
    """What the agent does about what the kernel forgot."""
    state = lab.directory.load_state().value
    current = lab.directory.load_generation(state.current).value if state and state.current else None
    if current is not None:
        lab.activation.activate(current)


def next_files(folder: Path) -> dict[str, Any]:
    """Those of the generation that fails, while it is being tried."""
    lab = Lab(folder / "next" / "state")
    (folder / "next").mkdir()
    lab.activation.activate(FIRST)
    lab.activation.activate(NEXT)
    return telling_files(lab)
