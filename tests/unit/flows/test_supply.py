"""A node's files come from where its configuration says, each once, and none that is not the right one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

import pytest

from flexnode.artifacts import Code, Store
from flexnode.errors import ArtifactError
from flexnode.flows.supply import make_fetch
from flexnode.flows.target import Target, make_target
from flexnode.generation import Need
from unit.flows.world import World


def target(world: World, **artifacts: Any) -> Target:
    sections = {"artifacts": {**world.config["artifacts"], **artifacts}}
    return make_target(world.resolved(**sections), world.workplace)


def fetch(world: World, wanted: Target, needs: Sequence[Need]) -> Store:
    store = Store(world.directory.store)
    make_fetch(wanted, store, clock=world.clock, progress=world.books)(needs)
    return store


def test_what_is_needed_comes_into_the_store(world: World) -> None:
    wanted = target(world)
    store = fetch(world, wanted, wanted.generation.needs)
    assert set(store.digests()) == {need.sha256 for need in wanted.generation.needs}


def test_only_what_is_asked_for_is_fetched(world: World) -> None:
    wanted = target(world)
    one = wanted.generation.needs[0]
    assert fetch(world, wanted, [one]).digests() == (one.sha256,)


def test_nothing_is_opened_for_nothing(world: World) -> None:
    """A node whose files are here needs no source, not even one that is sound."""
    wanted = target(world, sources=["/nonexistent/mirror"])
    world.books.told.clear()
    assert fetch(world, wanted, []).digests() == ()
    assert world.books.told == []


def test_bootstrap_fetches_what_the_store_lacks_and_no_more(world: World) -> None:
    wanted = target(world)
    here, *rest = wanted.generation.needs
    fetch(world, wanted, [here])
    world.books.told.clear()
    world.bootstrap()
    assert f"fetch {len(rest)} files" in world.books.told


def test_the_next_source_is_asked_where_one_has_it_not(world: World) -> None:
    empty = world.folder / "empty"
    (empty / "sha256").mkdir(parents=True)
    wanted = target(world, sources=[str(empty), str(world.mirror)])
    store = fetch(world, wanted, wanted.generation.needs)
    assert len(store.digests()) == len(wanted.generation.needs)


def test_authorities_of_the_user_s_are_those_that_are_read(world: World) -> None:
    """A mirror with a certificate of the company's own could not be used else."""
    bundle = world.folder / "company.pem"
    bundle.write_text("no certificate")
    wanted = target(world, sources=["https://127.0.0.1:9/mirror"], caBundle=str(bundle))
    with pytest.raises(ArtifactError) as caught:
        fetch(world, wanted, wanted.generation.needs)
    assert caught.value.code == Code.BAD_SOURCE
    assert str(bundle) in caught.value.message


def test_a_file_that_is_nowhere_is_said_with_the_places(world: World) -> None:
    wanted = target(world)
    shutil.rmtree(world.mirror)
    (world.mirror / "sha256").mkdir(parents=True)
    with pytest.raises(ArtifactError) as caught:
        fetch(world, wanted, wanted.generation.needs)
    assert str(world.mirror) in caught.value.message + caught.value.hint
    assert not caught.value.transient


@pytest.mark.parametrize("spoil", [lambda data: data[:-1], lambda data: data[:-1] + b"?"])
def test_a_file_that_is_another_one_is_refused(world: World, spoil: Any) -> None:
    wanted = target(world)
    (need,) = wanted.generation.needs[:1]
    path = world.mirror / "sha256" / need.sha256
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ArtifactError) as caught:
        fetch(world, wanted, [need])
    assert caught.value.code == Code.DIGEST_MISMATCH
    assert Store(world.directory.store).digests() == ()


def test_what_the_target_does_not_know_is_left_to_whoever_stages(world: World) -> None:
    """A blob of the machine's own is no artifact: the store says that it is missing."""
    assert fetch(world, target(world), [Need(sha256="0" * 64, name="unknown")]).digests() == ()
