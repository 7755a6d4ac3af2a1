"""The fault matrix, rows 1 and 2, on a real directory tree: the process is killed as `kill -9` kills it.

At every step of a flow, and between any two instructions. Whoever goes on has to end where an undisturbed run
would have, without a part of a file anywhere.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from flexnode.clock import SystemClock
from flexnode.generation import (
    Activation,
    DiskLedger,
    Generation,
    Moment,
    Name,
    Need,
    Outcome,
    StateDirectory,
    StoredContents,
)
from flexnode.host.door import FileInfo, Files
from flexnode.host.rootfs import RootfsHost
from flexnode.host.unit_links import LinkedUnits
from flexnode.resources.registry import make_handlers
from flexnode.resources.state import Image, Owned
from flexnode.secret import Secret
from unit.generation.samples import ORIGIN, TOKEN, make_node

pytestmark = pytest.mark.slow

KINDS = ("file", "link", "directory", "unit", "owned")
MTIME = 1_700_000_000_000_000_000


def part_of(node: Generation) -> Generation:
    """What a machine that does not run can have."""
    kept = [
        each
        for each in node.resources
        if each.kind in KINDS and (not isinstance(each.want, Owned) or each.want.trees)
    ]
    return Generation(resources=tuple(kept), needs=node.needs, kubernetes=node.kubernetes)


FIRST = part_of(make_node())
NEXT = part_of(make_node(kubelet="1.35.0", containerd_config="version = 3\nnext = true\n"))
assert not any(isinstance(each.want, Image) for each in FIRST.resources)


@dataclass
class TickingFiles:
    """The door to files, with a tick before and after everything that it changes."""

    files: Files
    tick: Callable[[], None]

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.files, name)
        if name in ("find", "read", "digest", "list", "mounts_below"):
            return method

        def ticking(*arguments: Any, **named: Any) -> Any:
            self.tick()
            answer = method(*arguments, **named)
            self.tick()
            return answer

        return ticking


@dataclass
class Machine:
    """A root file system and its state directory, both on disk: every process opens them anew."""

    folder: Path
    ticks: int = 0
    fatal: int = -1
    seen: list[str] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def lay_out(self) -> None:
        units = "etc/systemd/system/multi-user.target.wants"
        for path in (units, "usr/lib/systemd/system", "usr/local/bin", "etc/sysctl.d", "var/lib"):
            (self.root / path).mkdir(parents=True)
        (self.root / units / "ssh.service").symlink_to("/usr/lib/systemd/system/ssh.service")
        for path, text in {"etc/crictl.yaml": "debug: true\n", "etc/hosts": "127.0.0.1 localhost\n"}.items():
            (self.root / path).write_text(text)
            (self.root / path).chmod(0o640)
            os.utime(self.root / path, ns=(MTIME, MTIME))

    def tick(self) -> None:
        self.ticks += 1
        if self.ticks == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, _moment: Moment, _name: Name, _key: str) -> None:
        self.tick()

    @property
    def activation(self) -> Activation:
        host = RootfsHost(self.root)
        host.files = TickingFiles(host.files, self.tick)  # type: ignore[assignment]
        host.units = LinkedUnits(host.files)
        directory = StateDirectory(root=self.folder / "state")
        contents = StoredContents(directory, secrets={"bootstrap-token": lambda: Secret(TOKEN)})

        def fetch(needs: Sequence[Need], /) -> None:
            for need in needs:
                incoming = self.folder / "incoming"
                incoming.write_bytes(ORIGIN[need.sha256])
                contents.store.add(incoming, need.sha256)

        return Activation(
            host=host,
            handlers=make_handlers(),
            contents=contents,
            directory=directory,
            ledger=DiskLedger(directory.ledger),
            clock=SystemClock(),
            fetch=fetch,
            observer=self.watch,
        )

    def in_child(self, act: Callable[[Machine], object], arm: Callable[[], None] = lambda: None) -> bool:
        """Whether a process of its own lived to the end of `act`; `arm` is the first that it does."""
        child = os.fork()
        if not child:
            status = 1
            try:
                arm()
                act(self)
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return False
        assert os.WEXITSTATUS(status) == 0, "the flow failed instead of dying"
        return True

    def ending(self) -> dict[str, Any]:
        directory = StateDirectory(root=self.folder / "state")
        ledger = DiskLedger(directory.ledger)
        state = directory.load_state().value
        return {
            "root": tree(self.root),
            "state": (state.current, state.previous, state.desired) if state else None,
            "ledger": {key: ledger.find(key) for key in ledger.touched()},
            "files": {name: info for name, info in tree(directory.root).items() if "ledger" not in name},
        }


def tree(root: Path) -> dict[str, Any]:
    """Every entry with all that counts: the contents of documents of our own change with the time in them."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        stat = path.lstat()
        name = str(path.relative_to(root))
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        if path.is_file() and (name.startswith("state.json") or name == "lock"):
            content = None
        mtime = stat.st_mtime_ns if stat.st_mtime_ns == MTIME else 0
        found[name] = (oct(stat.st_mode), stat.st_uid, stat.st_gid, mtime, content)
    return found


def bootstrap(machine: Machine) -> Outcome:
    return machine.activation.activate(FIRST, operation="bootstrap")


def upgrade(machine: Machine) -> Outcome:
    return machine.activation.activate(NEXT, operation="upgrade")


def unbootstrap(machine: Machine) -> Outcome:
    return machine.activation.activate(Generation(), operation="unbootstrap")


def nothing(_machine: Machine) -> None:
    pass


FLOWS: Mapping[str, tuple[Callable[[Machine], object], Callable[[Machine], object]]] = {
    "bootstrap": (nothing, bootstrap),
    "upgrade": (bootstrap, upgrade),
    "unbootstrap": (bootstrap, unbootstrap),
}
every_flow = pytest.mark.parametrize(("prepare", "ask"), FLOWS.values(), ids=FLOWS.keys())


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a thing: a walk writes durably some ten thousand times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def make_machine(folder: Path, prepare: Callable[[Machine], object]) -> Machine:
    machine = Machine(folder)
    machine.lay_out()
    prepare(machine)
    machine.ticks = 0
    return machine


def go_on(machine: Machine, ask: Callable[[Machine], object]) -> None:
    machine.fatal = -1
    machine.activation.recover()
    ask(machine)


def differences(found: Any, wanted: Any, where: str = "") -> list[str]:
    if isinstance(found, dict) and isinstance(wanted, dict):
        keys = sorted(found.keys() | wanted.keys())
        pairs = ((found.get(key), wanted.get(key), f"{where}/{key}") for key in keys)
        return [each for pair in pairs for each in differences(*pair)]
    return [] if found == wanted else [f"{where}: {found!r} instead of {wanted!r}"]


@every_flow
def test_killed_at_any_step_it_ends_as_if_nothing_had_happened(
    prepare: Callable[[Machine], object], ask: Callable[[Machine], object], folder: Path
) -> None:
    undisturbed = make_machine(folder / "undisturbed", prepare)
    ask(undisturbed)
    wanted = undisturbed.ending()
    complaints = []
    for fatal in range(1, undisturbed.ticks + 1):
        machine = make_machine(folder / str(fatal), prepare)
        machine.fatal = fatal
        assert not machine.in_child(ask)
        go_on(machine, ask)
        complaints += [f"killed at {fatal}: {each}" for each in differences(machine.ending(), wanted)]
    assert undisturbed.ticks > 50
    assert not complaints, "\n".join(complaints[:40])


@every_flow
def test_killed_between_any_two_instructions_it_ends_as_if_nothing_had_happened(
    prepare: Callable[[Machine], object], ask: Callable[[Machine], object], folder: Path
) -> None:
    """A timer that the kernel acts upon, at times without a pattern but the same ones in each run."""
    undisturbed = make_machine(folder / "undisturbed", prepare)
    clock = SystemClock()
    started = clock.monotonic()
    assert undisturbed.in_child(ask)
    duration = clock.monotonic() - started
    wanted = undisturbed.ending()
    complaints = []
    killed = 0
    chance = random.Random(1)
    for number in range(40):
        machine = make_machine(folder / str(number), prepare)
        delay = chance.uniform(0.001, duration)

        def arm(delay: float = delay) -> None:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, delay)

        killed += not machine.in_child(ask, arm)
        go_on(machine, ask)
        complaints += [f"killed after {delay} s: {each}" for each in differences(machine.ending(), wanted)]
    assert killed
    assert not complaints, "\n".join(complaints[:40])


def test_the_parts_are_whole(folder: Path) -> None:
    """The walks above compare with an undisturbed run: this one is what it should be."""
    machine = make_machine(folder / "one", bootstrap)
    upgrade(machine)
    kubelet: FileInfo | None = RootfsHost(machine.root).files.find("/usr/local/bin/kubelet")
    assert kubelet is not None
    assert (machine.root / "usr/local/bin/kubelet").read_bytes() == b"kubelet 1.35.0"
    assert (machine.root / "etc/systemd/system/multi-user.target.wants/kubelet.service").is_symlink()
    original = make_machine(folder / "original", nothing)
    unbootstrap(machine)
    assert tree(machine.root) == tree(original.root)
