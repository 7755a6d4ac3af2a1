"""What holds for all tests: which ones need machines, and that none of those is left out quietly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

pytest_plugins = ["flexlab.testing"]

RAN = pytest.StashKey[dict[str, tuple[str, float]]]()


# The same examples in every run: what one person lands must not fail by chance for another. The full matrix
# tries others, with `--hypothesis-profile random`. A busy machine may take its time.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None)
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-vm-skips",
        action="store_true",
        help="fail when a test marked `vm` was skipped: a machine that cannot run them proves nothing",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RAN] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if item.get_closest_marker("vm"):
        outcome, seconds = item.config.stash[RAN].get(item.nodeid, ("passed", 0.0))
        if report.outcome != "passed":
            outcome = report.outcome
        item.config.stash[RAN][item.nodeid] = (outcome, seconds + report.duration)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.stash[RAN]:
        return
    terminalreporter.section("tests on machines")
    for name, (outcome, seconds) in config.stash[RAN].items():
        terminalreporter.write_line(f"{outcome:<8}{seconds:>8.1f} s  {name}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    skipped = any(outcome == "skipped" for outcome, _ in session.config.stash[RAN].values())
    if skipped and session.config.getoption("--no-vm-skips"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
