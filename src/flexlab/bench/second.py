"""`bootstrap` once more, with nothing to do: what it writes, what it restarts, what it costs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flexlab.bench.bench import Subject
from flexlab.bench.calibration import Calibration
from flexlab.bench.report import Measurement
from flexlab.errors import LabError
from flexlab.node_agent import PROGRAM
from flexnode.cli.output import RESERVATION

CPU_BAR = 1.0

SECOND = (PROGRAM, "bootstrap")
ASK_MANAGED = f"{PROGRAM} plan unbootstrap --output json"
CHANGES = 10
PATHS = ("file", "link", "directory")


@dataclass(frozen=True, kw_only=True, slots=True)
class Managed:
    """What the agent has on a machine, as leaving would take it away again."""

    paths: tuple[str, ...]
    units: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Traces:
    """What shows that something was touched: by path the change time, by unit the run that it is in."""

    times: Mapping[str, str]
    runs: Mapping[str, str]


def measure_second(subject: Subject) -> Iterator[Measurement]:
    """Everything but its CPU seconds."""
    managed = parse_managed(subject.run(ASK_MANAGED, expect=(CHANGES,)))
    before = look(subject, managed)
    with subject.bench.progress.step("bootstrap, with nothing to do"):
        said = subject.run(f"{PROGRAM} bootstrap --output json", expect=(0, RESERVATION))
    result = json.loads(said)["result"]
    if result != "unchanged":
        raise LabError(
            f"a second bootstrap found something to do: it ended with {result}",
            code="bench/not-settled",
            hint=f"keep the lab with --keep, and see `{PROGRAM} status` on its machine",
        )
    yield from compare(before, look(subject, managed))


def compare(before: Traces, after: Traces) -> Iterator[Measurement]:
    touched = count_differences(before.times, after.times)
    restarted = count_differences(before.runs, after.runs)
    yield Measurement(
        name="second bootstrap, managed files and folders", value=len(before.times), unit="paths"
    )
    yield _none("second bootstrap, change times that differ", touched, "paths")
    yield Measurement(name="second bootstrap, managed units", value=len(before.runs), unit="units")
    yield _none("second bootstrap, units started anew", restarted, "units")


def tell_cpu(seconds: float, calibration: Calibration) -> Iterator[Measurement]:
    yield Measurement(name="second bootstrap, CPU in the machine", value=seconds, unit="s")
    yield Measurement(
        name="second bootstrap, CPU as here (calibrated)",
        value=calibration.to_native(seconds),
        unit="s",
        compared_with="the bar",
        reference=CPU_BAR,
        bar=True,
    )


def look(subject: Subject, managed: Managed) -> Traces:
    with subject.bench.progress.step(f"look at {len(managed.paths)} paths and {len(managed.units)} units"):
        listing = "\0".join(managed.paths).encode()
        # What is not there has no time; stat says so, and goes on.
        times = subject.run("xargs -0 stat --format '%n %.Z' 2>/dev/null || test $? = 123", stdin=listing)
        runs = subject.run(f"systemctl show -p Id -p InvocationID {' '.join(managed.units)}")
    return Traces(times=parse_times(times), runs=parse_runs(runs))


def parse_managed(plan: str) -> Managed:
    """From the plan of an unbootstrap: what it would take away or put back."""
    keys = [change["key"].partition(":") for change in json.loads(plan)["changes"]]
    return Managed(
        paths=tuple(name for kind, _, name in keys if kind in PATHS),
        units=tuple(name for kind, _, name in keys if kind == "unit"),
    )


def parse_times(text: str) -> dict[str, str]:
    return dict(_split(line.rpartition(" ")) for line in text.splitlines())


def parse_runs(text: str) -> dict[str, str]:
    """Blocks of properties, one for each unit."""
    blocks = (
        dict(_split(line.partition("=")) for line in block.splitlines()) for block in text.split("\n\n")
    )
    return {block["Id"]: block.get("InvocationID", "") for block in blocks if block}


def count_differences(before: Mapping[str, str], after: Mapping[str, str]) -> int:
    """How many are not as they were; what is gone or new counts too."""
    return sum(before.get(name) != after.get(name) for name in {*before, *after})


def _split(parts: tuple[str, str, str]) -> tuple[str, str]:
    return parts[0], parts[2]


def _none(name: str, value: int, unit: str) -> Measurement:
    return Measurement(name=name, value=value, unit=unit, compared_with="the bar", reference=0.0, bar=True)
