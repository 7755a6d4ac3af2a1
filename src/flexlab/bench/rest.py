"""The agent when nothing happens: what it holds of memory, and what it takes of a processor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flexlab.bench.bench import Subject
from flexlab.bench.calibration import Calibration
from flexlab.bench.report import Measurement

SETTLING = 90
"""Seconds until all is done that a bootstrap leaves to do: the looks at a young node, the first report."""

WINDOW = 180
"""Seconds of rest that are measured: three of its rounds."""

MEMORY_BAR, SHARE_BAR = 45.0, 0.1

UNIT = "aks-flex-node-agent"
RESIDENT = f"awk '/VmRSS/ {{print $2}}' /proc/$(systemctl show -p MainPID --value {UNIT})/status"
USED = f"cut -d ' ' -f 1 /proc/uptime; systemctl show -p CPUUsageNSec --value {UNIT}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rest:
    """Megabytes, and percent of one of the machine's processors."""

    resident: float
    share: float
    seconds: float


def measure_rest(subject: Subject) -> Rest:
    with subject.bench.progress.step("the agent comes to rest"):
        subject.run(f"sleep {SETTLING}")
    with subject.bench.progress.step("the agent rests"):
        text = subject.run(f"{USED}; sleep {WINDOW}; {USED}; {RESIDENT}")
    return parse_rest(text)


def parse_rest(text: str) -> Rest:
    """Uptime and nanoseconds before, the same after, and KiB."""
    began, used, ended, used_later, resident = (float(word) for word in text.split())
    seconds = ended - began
    share = (used_later - used) / 1e9 / seconds * 100
    return Rest(resident=resident * 1024 / 1e6, share=share, seconds=seconds)


def tell_rest(rest: Rest, calibration: Calibration) -> Iterator[Measurement]:
    yield Measurement(name="agent at rest, measured for", value=rest.seconds, unit="s")
    yield Measurement(
        name="agent at rest, resident",
        value=rest.resident,
        unit="MB",
        compared_with="the bar",
        reference=MEMORY_BAR,
        bar=True,
    )
    yield Measurement(name="agent at rest, CPU in the machine", value=rest.share, unit="%")
    yield Measurement(
        name="agent at rest, CPU as here (calibrated)",
        value=calibration.to_native(rest.share),
        unit="%",
        compared_with="the bar",
        reference=SHARE_BAR,
        bar=True,
    )
