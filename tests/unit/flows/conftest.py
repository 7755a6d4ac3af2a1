"""One small world for each test that needs one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.flows.world import World, open_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with open_world(tmp_path) as world:
        yield world


@pytest.fixture
def joined(world: World) -> World:
    """A machine that is a node, before anything else happens to it."""
    assert world.bootstrap().failure is None
    world.host.writes.clear()
    world.server.seen.clear()
    return world
