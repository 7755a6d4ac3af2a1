"""A pytest plugin for runs that take hours: split in shards, stopped and continued, one record per test.

    pytest -p matrix --matrix FOLDER [--shard 1/4]

Each result is written to FOLDER as soon as it is known. A test that passed there is not run again; one that
failed is. `make test-all` names the folder after the commit, so results never speak for other code.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("matrix")
    group.addoption("--matrix", type=Path, metavar="FOLDER", help="where results are kept")
    group.addoption("--shard", default="1/1", metavar="N/M", help="run the Nth of M parts")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--matrix")
    if folder is not None:
        config.pluginmanager.register(Matrix(folder, parse_shard(config.getoption("--shard"))), "matrix-run")


def parse_shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise pytest.UsageError(f"--shard is {text!r}; write 1/4 for the first of four parts")
    return int(found[1]), int(found[2])


def load_results(folder: Path) -> dict[str, dict[str, Any]]:
    """The last result of each test, from every shard that has run so far."""
    results: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:  # cut off while it was written
                continue
            results[record["test"]] = record
    return results


class Matrix:
    """Selects this shard's tests that have not passed yet, and records each one."""

    def __init__(self, folder: Path, shard: tuple[int, int]) -> None:
        self.folder = folder
        self.shard = shard
        self.path = folder / f"shard-{shard[0]}-of-{shard[1]}.jsonl"
        self.all = 0
        self.reports: dict[str, tuple[str, float]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        self.all = len(items)
        number, count = self.shard
        # Neighbours share fixtures (a lab takes a minute to come up), so a shard is a run of neighbours.
        mine = items[len(items) * (number - 1) // count : len(items) * number // count]
        known = load_results(self.folder)
        todo = [item for item in mine if known.get(item.nodeid, {}).get("outcome") != "passed"]
        chosen = {id(item) for item in todo}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
        items[:] = todo

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome, seconds = self.reports.get(report.nodeid, ("passed", 0.0))
        if report.outcome != "passed":
            outcome = report.outcome
        self.reports[report.nodeid] = (outcome, seconds + report.duration)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        outcome, seconds = self.reports.pop(nodeid, ("failed", 0.0))
        self.folder.mkdir(parents=True, exist_ok=True)
        date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        record = {"test": nodeid, "outcome": outcome, "seconds": round(seconds, 1), "date": date}
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # A continued run with nothing left to do is a finished one.
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        results = load_results(self.folder)
        figures = Counter(record["outcome"] for record in results.values())
        spent = sum(record["seconds"] for record in results.values())
        said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(figures.items())) or "none yet"
        terminalreporter.section("matrix")
        terminalreporter.write_line(f"date      {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC")
        terminalreporter.write_line(f"commit    {self.folder.name}")
        terminalreporter.write_line(f"results   {said}, of {self.all}; {spent:.0f} s in tests, all shards")
