"""The same wishes make the same node, other wishes another one, and no secret is part of either."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from flexnode.components.join_token import TOKEN as TOKEN_NAME
from flexnode.components.node_proxy import HTTPS
from flexnode.flows.target import Target, list_secrets, make_target
from flexnode.model.credentials import Credentials
from flexnode.model.spec import NodeSpec
from flexnode.secret import Secret
from unit.flows.world import TOKEN, World

OTHER_TOKEN = "fedcba.fedcba9876543210"
PASSWORD = "pa55-planted-word"
PROXY = f"http://user:{PASSWORD}@127.0.0.1:9"


def target(world: World, **sections: Any) -> Target:
    return make_target(world.resolved(**sections), world.workplace)


def test_the_same_wishes_make_the_same_node(world: World) -> None:
    first, second = target(world), target(world)
    assert first.generation == second.generation
    assert first.generation.id == second.generation.id
    assert (first.inputs, first.config) == (second.inputs, second.config)


def test_a_node_that_was_joined_comes_out_the_same_again(world: World) -> None:
    """Or its agent would change it, and change it again, for ever."""
    before = target(world)
    world.bootstrap()
    after = target(world)
    assert after.generation.id == before.generation.id
    assert after.inputs == before.inputs


@pytest.mark.parametrize(
    "sections",
    [
        {"kubelet": {"maxPods": 42}},
        {"versions": {"kubernetes": "1.34"}},
        {"node": {"labels": {"example.com/rack": "17"}}},
        {"node": {"name": "edge-7"}},
    ],
)
def test_other_wishes_make_another_node(world: World, sections: dict[str, Any]) -> None:
    first, second = target(world), target(world, **sections)
    assert first.generation.id != second.generation.id
    assert first.inputs != second.inputs
    assert first.config != second.config


def test_a_wish_that_changes_nothing_on_the_machine_is_another_try_all_the_same(world: World) -> None:
    """What was rejected is tried again once a person changes something: also the time that it may take."""
    first, second = target(world), target(world, agent={"bootstrapTimeout": "20m"})
    assert first.generation.id == second.generation.id
    assert first.inputs != second.inputs


def test_the_name_is_the_machines_unless_it_was_given(world: World) -> None:
    assert target(world).node == "node-1"
    assert target(world, node={"name": "edge-7"}).node == "edge-7"


def test_a_secret_is_in_a_generation_by_its_name_only(world: World) -> None:
    found = target(world, proxy={"https": PROXY, "noProxy": ["127.0.0.1"]})
    text = msgspec.json.encode(found.generation).decode()
    assert TOKEN not in text
    assert PASSWORD not in text
    assert f"{{{{{TOKEN_NAME}}}}}" in text
    assert found.secrets[TOKEN_NAME]() == Secret(TOKEN)
    assert PASSWORD in found.secrets[HTTPS]().reveal()


def test_nothing_that_can_be_printed_of_it_shows_a_secret(world: World) -> None:
    found = target(world, proxy={"https": PROXY, "noProxy": ["127.0.0.1"]})
    shown = repr(found) + str(found)
    assert TOKEN not in shown
    assert PASSWORD not in shown


def test_another_token_is_no_other_node(world: World) -> None:
    """Tokens expire; a node that is rejected does not get better with a new one."""
    first, second = target(world), target(world, auth={"bootstrapToken": OTHER_TOKEN})
    assert first.generation.id == second.generation.id
    assert first.inputs == second.inputs


def test_each_secret_is_read_when_it_is_written_and_not_before() -> None:
    class Watched(Secret):
        reads = 0

        def reveal(self) -> str:
            Watched.reads += 1
            return super().reveal()

    secrets = list_secrets(NodeSpec(credentials=Credentials(bootstrap_token=Watched(TOKEN))))
    assert Watched.reads == 0
    assert secrets[TOKEN_NAME]().reveal() == TOKEN


def test_a_node_without_credentials_has_no_secrets() -> None:
    assert list_secrets(NodeSpec()) == {}
