"""The fault matrix, rows 7 to 14, for whole flows: files that do not arrive keep a node exactly as it is.

A machine joins, a node takes over another version through its daemon, and a node leaves, while the servers
that have the files are real and do what the matrix says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from faults.scene import TERMINAL, TRANSIENT, Scene, open_scene
from flexlab.artifact_server import (
    ArtifactServer,
    BadTls,
    CaptivePortal,
    Fault,
    FlipBit,
    NotFound,
    Reset,
    Slow,
    Throttle,
    TlsFlaw,
    Truncate,
    serve,
)
from flexlab.pki import Identity, Usage, create_authority
from flexnode.agent.assess import Phase
from flexnode.errors import Kind
from flexnode.retry import RETRY_AFTER_CAP

OLDER, NEWER = {"kubernetes": "1.34"}, {"kubernetes": "1.35"}
PATIENCE = ("--timeout", "1m")


@dataclass
class Mirrors:
    """Two servers with all files. What is wrong with both stands in `faults`, with one only in `first`."""

    one: ArtifactServer
    two: ArtifactServer
    ca: Path
    faults: list[Fault] = field(default_factory=list)
    first: list[Fault] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, Any]:
        return {"sources": [self.one.url, self.two.url], "caBundle": str(self.ca)}

    @property
    def requests(self) -> int:
        return len(self.one.requests) + len(self.two.requests)


@contextmanager
def open_mirrors(scene: Scene) -> Iterator[Mirrors]:
    """Over HTTPS, with an authority that only the user's configuration names."""
    authority = create_authority("a company's own authority")
    identity = Identity(
        common_name="mirror", addresses=(ip_address("127.0.0.1"),), usages=(Usage.SERVER,), days=1
    )
    folder = scene.world.folder
    tls = authority.issue(identity).write(folder / "tls", "server")
    ca = folder / "ca.pem"
    ca.write_bytes(authority.certificate)
    faults: list[Fault] = []
    first: list[Fault] = []

    def ask_first() -> Sequence[Fault]:
        return [*first, *faults]

    store, clock = scene.world.mirror, scene.world.clock
    with (
        serve(store=store, faults=ask_first, tls=tls, authority=authority, clock=clock) as one,
        serve(store=store, faults=lambda: faults, tls=tls, authority=authority, clock=clock) as two,
    ):
        mirrors = Mirrors(one=one, two=two, ca=ca, faults=faults, first=first)
        scene.configure(artifacts={**mirrors.settings, "overlays": [str(scene.world.overlay)]})
        yield mirrors


@dataclass(frozen=True, kw_only=True)
class Case:
    """`words`: what a person has to be told besides."""

    fault: Fault
    code: str
    kind: Kind
    words: str = ""

    def __str__(self) -> str:
        return f"{type(self.fault).__name__}-{self.code.partition('/')[2]}"


GONE, WAITS = Kind.TERMINAL, Kind.TRANSIENT
CASES = [
    Case(fault=FlipBit(), code="artifact/digest-mismatch", kind=GONE),
    Case(fault=Truncate(after=3), code="artifact/digest-mismatch", kind=GONE),
    Case(fault=NotFound(), code="artifact/not-found", kind=GONE),
    Case(fault=Throttle(retry_after=1), code="artifact/throttled", kind=WAITS),
    Case(fault=Throttle(status=503, retry_after=None), code="artifact/throttled", kind=WAITS),
    Case(fault=Reset(), code="artifact/connection-lost", kind=WAITS),
    Case(fault=CaptivePortal(), code="artifact/intercepted", kind=GONE, words="web page"),
    Case(fault=BadTls(), code="artifact/untrusted-tls", kind=GONE),
    Case(fault=BadTls(flaw=TlsFlaw.EXPIRED), code="artifact/untrusted-tls", kind=GONE),
    Case(fault=BadTls(flaw=TlsFlaw.WRONG_HOST), code="artifact/untrusted-tls", kind=GONE),
]


def store_is_clean(scene: Scene) -> bool:
    """Whether nothing is left of what arrived in part."""
    return not list(scene.world.directory.store.rglob("*.partial"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_machine_that_cannot_get_its_files_is_not_touched(case: Case) -> None:
    with open_scene() as scene, open_mirrors(scene) as mirrors:
        mirrors.faults.append(case.fault)
        before = scene.world.host.snapshot(times=True)
        ended = scene.type("bootstrap", *PATIENCE)
        assert (ended.code, ended.kind) == (case.code, case.kind), ended.err
        assert ended.status == (TRANSIENT if case.kind is WAITS else TERMINAL)
        assert case.words in ended.failure["message"]
        assert mirrors.one.url in ended.failure["message"]
        assert mirrors.two.url in ended.failure["message"]
        assert ended.failure["hint"]
        assert f"code: {case.code}" in ended.err
        assert scene.world.host.snapshot(times=True) == before
        assert scene.world.memory() == {"current": None, "desired": None, "journal": False}
        assert store_is_clean(scene)
        assert (scene.provision.result, scene.provision.code) == ("failed", case.code)
        told = scene.world.books.told
        looks = sum(line.startswith("check ") and not line.endswith("failed") for line in told)
        assert (looks > 2) == (case.kind is WAITS), f"{looks} attempts"
        mirrors.faults.clear()
        assert scene.type("bootstrap").status == 0


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_node_that_cannot_get_another_version_stays_ready_as_it_is(case: Case) -> None:
    """Its daemon says why; where that passes, it goes on by itself, else once somebody asks it to."""
    with open_scene(versions=OLDER) as scene, open_mirrors(scene) as mirrors:
        scene.join()
        current = scene.world.memory()["current"]
        scene.live(5)
        mirrors.faults.append(case.fault)
        scene.world.host.writes.clear()
        scene.configure(versions=NEWER)
        status = scene.live(30)
        assert status.failure is not None
        assert (status.failure.code, status.failure.kind) == (case.code, case.kind)
        assert status.phase == (Phase.WAITING if case.kind is WAITS else Phase.RESTING)
        assert (status.retry_at is not None) == (case.kind is WAITS)
        assert scene.world.host.writes == []
        assert scene.world.memory() == {"current": current, "desired": "joined", "journal": False}
        assert store_is_clean(scene)
        mirrors.faults.clear()
        if case.kind is GONE:
            asked = mirrors.requests
            scene.live(900)
            assert mirrors.requests == asked, "what cannot pass by itself was tried again"
            scene.bell.again = True  # SIGHUP, as `systemctl reload` sends it
        assert scene.live(400).failure is None
        assert scene.world.memory()["current"] != current


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_node_leaves_whatever_its_sources_do(case: Case) -> None:
    with open_scene(versions=OLDER) as scene, open_mirrors(scene) as mirrors:
        before = scene.world.host.snapshot()
        scene.join()
        mirrors.faults.append(case.fault)
        asked = mirrors.requests
        assert scene.type("unbootstrap", "--yes").status == 0
        assert mirrors.requests == asked
        assert scene.world.host.snapshot() == before


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_good_source_is_enough(case: Case) -> None:
    """The users' own authority, named in their configuration, is trusted."""
    with open_scene() as scene, open_mirrors(scene) as mirrors:
        mirrors.first.append(case.fault)
        assert scene.type("bootstrap").status == 0
        assert {request.fault for request in mirrors.two.requests} == {None}


@pytest.mark.parametrize("as_date", [False, True], ids=["seconds", "date"])
@pytest.mark.parametrize("asked", [45, 100_000])
def test_the_pause_that_a_source_asks_for_is_made_and_no_afternoon(asked: int, as_date: bool) -> None:
    """By the daemon, too, whose own first pause is shorter."""
    with open_scene() as scene, open_mirrors(scene) as mirrors:
        mirrors.faults.append(Throttle(retry_after=asked, as_date=as_date))
        status = scene.live(1)
        assert status.retry_at is not None
        pause = (status.retry_at - scene.world.clock.now()).total_seconds()
        assert min(asked, RETRY_AFTER_CAP) - 5 <= pause <= RETRY_AFTER_CAP
        mirrors.faults.clear()
        assert scene.live(RETRY_AFTER_CAP + 5).failure is None
        assert scene.world.memory()["current"]


def test_a_mirror_with_one_byte_a_second_is_not_waited_for() -> None:
    """Row 8. Time is hurried, so that its seconds take none."""
    with open_scene() as scene, open_mirrors(scene) as mirrors:
        scene.world.clock.speed = 20
        mirrors.first.append(Slow(bytes_per_second=1))
        ended = scene.type("bootstrap")
        assert ended.status == 0, ended.err


def test_a_machine_whose_mirrors_all_trickle_is_not_touched() -> None:
    with open_scene() as scene, open_mirrors(scene) as mirrors:
        scene.world.clock.speed = 20
        mirrors.faults.append(Slow(bytes_per_second=1))
        before = scene.world.host.snapshot(times=True)
        ended = scene.type("bootstrap", *PATIENCE)
        assert (ended.status, ended.code, ended.kind) == (TRANSIENT, "artifact/too-slow", WAITS), ended.err
        assert scene.world.host.snapshot(times=True) == before
        assert store_is_clean(scene)
