"""The life of one node of the agent: from a stock machine to Ready, at rest, and asked for the same again."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Iterator

from flexlab import node_agent
from flexlab.bench.bench import Bench, Joined, Subject, open_subject
from flexlab.bench.calibration import Scales
from flexlab.bench.power_on import READY as FLOOR
from flexlab.bench.report import Measurement, save
from flexlab.bench.rest import measure_rest, tell_rest
from flexlab.bench.second import SECOND, measure_second, tell_cpu
from flexlab.bench.start_up import installed
from flexlab.bench.steps import BETWEEN, Row, Step, compose_rows, cut, find_gaps, shift
from flexlab.bench.timeline import Mark, render_timeline

STOCK_TO_READY = "stock VM to Ready"

LEAST = 0.5
"""Seconds. A change that took longer has a row of its own."""


def measure_agent(bench: Bench) -> Iterator[Measurement]:
    with open_subject(bench, "agent") as subject:
        luggage = node_agent.pack(subject.terminal, subject.parts)
        try:
            laid = subject.time(
                "bring the archive onto the machine, and install it",
                lambda: node_agent.unpack(subject.terminal, luggage),
            )
            joined = subject.join(
                "the agent makes it a node", "systemctl enable --quiet --now aks-flex-node-agent"
            )
            yield from _tell_way(bench, subject.boot, laid, joined)
            with installed(bench.progress) as here:
                scales = Scales(subject=subject, here=here, config=luggage / "config.json")
                yield from _tell_rest(subject, scales)
        finally:
            shutil.rmtree(luggage)  # the configuration in it holds a token


def _tell_way(bench: Bench, boot: float, laid: float, joined: Joined) -> Iterator[Measurement]:
    before = (
        Step(name="power-on to SSH", begin=0.0, end=boot),
        Step(name="copy the archive, install.sh", begin=boot, end=boot + laid),
    )
    begin, ready = boot + laid, boot + laid + joined.seconds
    steps = (*before, *shift(joined.steps, begin))
    until_ready = cut(steps, ready)
    yield Measurement(
        name=STOCK_TO_READY,
        value=ready,
        unit="s",
        compared_with=FLOOR if FLOOR in bench.known else "",
        reference=bench.known.get(FLOOR),
    )
    for row in compose_rows(until_ready, least=LEAST):
        yield _part(row.label, row.seconds)
    yield _part(BETWEEN, find_gaps(until_ready, ready))
    if bench.timeline:
        picture = draw_way(compose_rows(steps, least=LEAST), ready)
        save(picture.encode(), bench.timeline)


def draw_way(rows: tuple[Row, ...], ready: float) -> str:
    title = "A stock VM becomes a node; artifacts from the mirror"
    return render_timeline(title, rows, [Mark(at=ready, label="Ready")])


def _part(label: str, seconds: float) -> Measurement:
    return Measurement(name=f"  {STOCK_TO_READY}: {label}", value=seconds, unit="s")


def _tell_rest(subject: Subject, scales: Scales) -> Iterator[Measurement]:
    rest = measure_rest(subject)
    # From here on nothing but what is asked for: the agent would look after its node meanwhile.
    subject.run("systemctl stop aks-flex-node-agent")
    yield from measure_second(subject)
    seconds = []
    for _ in range(subject.bench.rounds):
        scales.weigh()
        with subject.bench.progress.step("count the CPU seconds of a bootstrap with nothing to do"):
            seconds.append(subject.count_cpu(SECOND))
    calibration = scales.read()
    yield Measurement(name="CPU seconds of the machine for one of ours", value=calibration.scale, unit="s")
    yield from tell_cpu(statistics.median(seconds), calibration)
    yield from tell_rest(rest, calibration)
