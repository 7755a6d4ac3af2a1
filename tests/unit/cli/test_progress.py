"""What people see while work runs, in virtual time."""

from __future__ import annotations

import io
import os
import threading
from datetime import UTC, datetime

import pytest

from flexnode.cli.progress import (
    HEARTBEAT,
    PlainView,
    TerminalView,
    View,
    ViewedProgress,
    duration,
    one_line,
    open_progress,
    view_for,
)
from flexnode.clock import FakeClock


class Page(io.TextIOWrapper):
    """A stream that remembers, with an encoding of choice."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding=encoding, write_through=True)

    @property
    def text(self) -> str:
        return self._bytes.getvalue().decode(self.encoding)


class Screen:
    """The rows that a terminal shows after what was written to it, scrollback included."""

    def __init__(self, written: str) -> None:
        self.rows: list[str] = []
        row = 0
        for part in written.replace("\x1b[J", "\x00").split("\x1b["):
            text = part
            if row or self.rows:
                up, letter, text = part.partition("A")
                if letter:
                    row -= int(up)
                else:
                    text = part
            if text.startswith("\r"):
                text = text[1:]
            if text.startswith("\x00"):
                del self.rows[row:]
                text = text[1:]
            for line in text.splitlines():
                self.rows.append(line)
                row = len(self.rows)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def plain(page: Page, clock: FakeClock) -> ViewedProgress:
    return ViewedProgress(PlainView(page), clock)


def test_a_pipe_shows_when_each_step_began_and_how_long_it_took(clock: FakeClock) -> None:
    page = Page()
    progress = plain(page, clock)
    with progress.step("stage artifacts"):
        with progress.step("fetch one"):
            clock.sleep(12.3)
        clock.sleep(1)
    assert page.text.splitlines() == [
        "start stage artifacts",
        "  start fetch one",
        "  done fetch one (12.3 s)",
        "done stage artifacts (13.3 s)",
    ]


def test_a_pipe_is_never_silent_for_longer_than_the_heartbeat(clock: FakeClock) -> None:
    page = Page()
    progress = plain(page, clock)
    with progress.step("build kubernetes"):
        due = progress.tick()
        for _ in range(200):
            before = page.text
            clock.sleep(due)
            due = progress.tick()
            assert due <= HEARTBEAT
            if due == HEARTBEAT:
                assert page.text != before
        assert clock.monotonic() >= 100 * HEARTBEAT
    assert "… still in build kubernetes (20 s)" in page.text
    assert "… still in build kubernetes (40 s)" in page.text


def test_only_the_innermost_step_gives_signs_of_life(clock: FakeClock) -> None:
    page = Page()
    progress = plain(page, clock)
    with progress.step("outer"):
        with progress.step("inner"):
            clock.sleep(25)
            progress.tick()
        assert "still in outer" not in page.text
        assert "  … still in inner (25 s)" in page.text
        clock.sleep(19)
        progress.tick()
        assert "still in outer" not in page.text
        clock.sleep(1)
        progress.tick()
        assert "… still in outer (45 s)" in page.text


def test_the_step_that_failed_is_marked_and_the_error_goes_on(clock: FakeClock) -> None:
    page = Page()
    progress = plain(page, clock)
    with pytest.raises(RuntimeError, match="boom"), progress.step("outer"), progress.step("inner"):
        raise RuntimeError("boom")
    assert page.text.splitlines()[2:] == ["  FAILED inner (0.0 s)", "FAILED outer (0.0 s)"]


def test_the_last_note_stands_with_the_heartbeat_and_the_result(clock: FakeClock) -> None:
    page = Page()
    progress = plain(page, clock)
    progress.note("before any step")
    with progress.step("fetch"):
        progress.note("10 MiB/s")
        clock.sleep(20)
        progress.tick()
        progress.note("12 MiB, from the second source")
    assert page.text.splitlines() == [
        "before any step",
        "start fetch",
        "… still in fetch (20 s)  10 MiB/s",
        "done fetch (20.0 s)  12 MiB, from the second source",
    ]


def test_a_terminal_keeps_finished_steps_above_the_running_ones(clock: FakeClock) -> None:
    page = Page()
    progress = ViewedProgress(TerminalView(page), clock)
    with progress.step("stage"):
        with progress.step("fetch"):
            clock.sleep(12.3)
            progress.tick()
            assert Screen(page.text).rows == ["… stage  12 s", "  … fetch  12 s"]
        assert Screen(page.text).rows == ["  ✓ fetch  12.3 s", "… stage  12 s"]
        progress.note("nothing to do")
    assert Screen(page.text).rows == ["  ✓ fetch  12.3 s", "✓ stage  12.3 s  nothing to do"]


def test_a_terminal_shows_which_step_failed(clock: FakeClock) -> None:
    page = Page()
    progress = ViewedProgress(TerminalView(page), clock)
    with pytest.raises(RuntimeError), progress.step("fetch"):
        raise RuntimeError("boom")
    assert Screen(page.text).rows == ["✗ fetch  0.0 s"]


def test_a_long_title_never_wraps_the_live_line(clock: FakeClock) -> None:
    page = Page()
    progress = ViewedProgress(TerminalView(page), clock)
    with progress.step("x" * 300):
        assert all(len(row) < 80 for row in Screen(page.text).rows)


@pytest.mark.parametrize("view", [PlainView, TerminalView])
def test_a_stream_without_unicode_gets_ascii(view: type[View], clock: FakeClock) -> None:
    page = Page("ascii")
    progress = ViewedProgress(view(page), clock)  # type: ignore[call-arg]
    with progress.step("fetch"):
        clock.sleep(30)
        progress.tick()
    assert page.text.isascii()
    assert "30.0 s" in page.text


def test_steps_of_a_pool_nest_in_the_step_that_started_the_pool(clock: FakeClock) -> None:
    page = Page()
    progress = plain(page, clock)
    together = threading.Barrier(4)

    def fetch(name: str) -> None:
        with progress.step(name):
            together.wait(timeout=10)

    with progress.step("stage"):
        workers = [threading.Thread(target=fetch, args=(f"file {number}",)) for number in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    lines = page.text.splitlines()
    assert lines[0] == "start stage"
    assert sorted(lines[1:5]) == [f"  start file {number}" for number in range(4)]
    assert sorted(lines[5:9]) == [f"  done file {number} (0.0 s)" for number in range(4)]
    assert lines[9] == "done stage (0.0 s)"


def test_work_goes_on_when_nobody_can_read_any_more(clock: FakeClock) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stream = io.TextIOWrapper(io.FileIO(writer, "w"), encoding="utf-8", write_through=True)
    progress = ViewedProgress(PlainView(stream), clock)
    worked = 0
    for _ in range(3):
        with progress.step("work"):
            worked += 1
    assert worked == 3
    stream.close()


def test_live_lines_only_where_a_cursor_can_move(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(Page):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(view_for(Terminal()), TerminalView)
    assert isinstance(view_for(Page()), PlainView)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(view_for(Terminal()), PlainView)


def test_a_running_step_speaks_without_the_work_helping() -> None:
    """The ticker thread asks the clock itself: the work only waits, as on a long download."""

    class LeapingClock(FakeClock):
        def monotonic(self) -> float:
            self._elapsed += HEARTBEAT
            return self._elapsed

    spoke = threading.Event()

    class Listener(Page):
        def write(self, text: str) -> int:
            if "still in" in text:
                spoke.set()
            return super().write(text)

    clock = LeapingClock(datetime(2026, 1, 1, tzinfo=UTC))
    with open_progress(Listener(), clock) as progress, progress.step("download"):
        assert spoke.wait(timeout=10)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (12.34, "12.3 s"), (59.97, "1 min 00 s"), (125, "2 min 05 s"), (3840, "1 h 04 min")],
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_title_cannot_move_the_cursor() -> None:
    assert one_line("a\x1b[2Jb\nc\r") == "a [2Jb c"
