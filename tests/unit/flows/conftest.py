"""One small world for each test that needs one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.flows.world import World, open_world


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a thing: an operation writes durably some hundred times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture
def world(folder: Path) -> Iterator[World]:
    with open_world(folder) as world:
        yield world


@pytest.fixture
def joined(world: World) -> World:
    """A machine that is a node, before anything else happens to it."""
    assert world.bootstrap().failure is None
    world.host.writes.clear()
    world.server.seen.clear()
    return world
