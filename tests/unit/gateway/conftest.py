"""A lab on disk with two machines, for the gateway's services to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexlab.gateway.zone import Zone
from flexlab.lab import Lab, save_lab
from flexlab.model import LabSpec, NodeSpec, Suite


@pytest.fixture
def zone(tmp_path: Path) -> Zone:
    nodes = tuple(
        NodeSpec(name=name, index=index, suite=Suite.BOOKWORM, uuid=f"uuid-{name}")
        for index, name in enumerate(("edge1", "edge2"))
    )
    spec = LabSpec(name="t", kubernetes="any", suite=Suite.BOOKWORM, nodes=nodes)
    save_lab(Lab(folder=tmp_path, spec=spec))
    return Zone(lab_folder=tmp_path)
