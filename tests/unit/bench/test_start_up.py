"""How soon the program answers is measured on what users install, and in turns."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flexlab.bench.start_up import find_python, time_in_turns, unpack
from flexlab.errors import LabError
from flexlab.images.tarball import Item, write_tar_gz
from flexnode.clock import SystemClock
from flexnode.progress import Silent

OWN = f"python{sys.version_info.major}.{sys.version_info.minor}"


def test_the_programs_take_turns_after_one_start_that_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "log"
    programs = {
        name: ("sh", "-c", f"echo {name} >>{log}; sleep {wait}") for name, wait in (("a", 0), ("b", 0.2))
    }
    times = time_in_turns(programs, SystemClock(), Silent(), rounds=2)
    assert log.read_text().split() == ["a", "b", "a", "b", "a", "b"]
    assert times["b"] >= 200 > times["a"] > 0


def test_the_python_that_the_installed_program_would_take_is_taken(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    with pytest.raises(LabError, match=r"no Python 3\.11 to 3\.13"):
        find_python((first, second))
    (second / OWN).touch()
    assert find_python((first, second)) == second / OWN
    (first / OWN).touch()
    assert find_python((first, second)) == first / OWN


def test_the_archive_unpacks_to_its_program(tmp_path: Path) -> None:
    name = "aks-flex-node-1.0-py311-amd64"
    with (tmp_path / f"{name}.tar.gz").open("wb") as stream:
        write_tar_gz(stream, [Item(name=f"{name}/bin/aks-flex-node", mode=0o755, data=b"#!/bin/sh\n")])
    assert unpack(tmp_path / f"{name}.tar.gz", tmp_path).read_bytes() == b"#!/bin/sh\n"
