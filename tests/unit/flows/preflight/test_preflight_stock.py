"""What a user with a plain machine would lose: a machine that is fit is told so, and is left as it was."""

from __future__ import annotations

import pytest

from flexnode.flows.preflight import CHECKS, Check, Level, preflight
from unit.flows.preflight.samples import situation, stock


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_plain_machine_passes(check: Check) -> None:
    (finding, *others) = preflight(situation(), checks=[check]).findings
    assert not others
    assert finding.level is Level.OK, finding
    assert finding.message


def test_nothing_on_the_machine_is_changed() -> None:
    host = stock()
    before = host.snapshot(times=True)
    preflight(situation(host))
    assert host.writes == []
    assert host.snapshot(times=True) == before


def test_names_are_unique_and_written_alike() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and " " not in name and "_" not in name for name in names)


def test_every_check_says_what_it_looks_at() -> None:
    assert all(check.title and not check.title.endswith(".") for check in CHECKS)
