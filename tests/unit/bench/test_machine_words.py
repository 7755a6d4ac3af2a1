"""What the machine answers to a benchmark's questions, understood."""

from __future__ import annotations

import json

import pytest

from flexlab.bench.rest import parse_rest
from flexlab.bench.second import Managed, Traces, compare, parse_managed, parse_runs, parse_times


def test_rest_is_told_by_what_was_used_between_two_looks() -> None:
    rest = parse_rest("1000.00\n5000000000\n1180.00\n5360000000\n40000\n")
    assert (rest.seconds, rest.share) == (pytest.approx(180.0), pytest.approx(0.2))
    assert rest.resident == pytest.approx(40.96)  # KiB become MB


def test_managed_is_what_leaving_would_take_away() -> None:
    keys = [
        "file:/etc/a b",
        "directory:/etc/c",
        "link:/etc/d",
        "unit:kubelet.service",
        "sysctl:vm.x",
        "owned:n",
    ]
    plan = json.dumps({"changes": [{"key": key, "summary": ""} for key in keys]})
    assert parse_managed(plan) == Managed(paths=("/etc/a b", "/etc/c", "/etc/d"), units=("kubelet.service",))


def test_change_times_are_read_with_their_fractions() -> None:
    assert parse_times("/etc/a b 1763596800.123456789\n/etc/c 1.5\n") == {
        "/etc/a b": "1763596800.123456789",
        "/etc/c": "1.5",
    }


def test_runs_are_read_by_unit() -> None:
    assert parse_runs("Id=kubelet.service\nInvocationID=ab\n\nInvocationID=\nId=swap.target\n") == {
        "kubelet.service": "ab",
        "swap.target": "",
    }


def figures(before: Traces, after: Traces) -> dict[str, tuple[float, bool]]:
    return {each.name: (each.value, each.missed) for each in compare(before, after)}


def test_a_machine_that_was_not_touched_meets_the_bar() -> None:
    traces = Traces(times={"/a": "1.0", "/b": "2.0"}, runs={"kubelet.service": "ab"})
    assert figures(traces, traces) == {
        "second bootstrap, managed files and folders": (2, False),
        "second bootstrap, change times that differ": (0, False),
        "second bootstrap, managed units": (1, False),
        "second bootstrap, units started anew": (0, False),
    }


def test_a_file_that_was_written_or_is_gone_and_a_unit_that_was_restarted_are_counted() -> None:
    before = Traces(times={"/a": "1.0", "/b": "2.0", "/c": "3.0"}, runs={"kubelet.service": "ab"})
    after = Traces(times={"/a": "1.0", "/b": "9.0"}, runs={"kubelet.service": "cd"})
    found = figures(before, after)
    assert found["second bootstrap, change times that differ"] == (2, True)
    assert found["second bootstrap, units started anew"] == (1, True)
