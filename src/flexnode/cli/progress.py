"""Progress for people: live lines on a terminal, plain lines in a pipe, and never a silent minute in either.

    with open_progress(sys.stderr, SystemClock()) as progress:
        with progress.step("fetch kubelet"):
            progress.note("12 MiB/s")

On a terminal every running step has a line with its elapsed time, and leaves `✓ fetch kubelet  12.3 s`
behind. In a pipe or a journal each step writes `start` and `done`, and while it runs a sign of life every 20
seconds.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol, TextIO

from flexnode.clock import Clock
from flexnode.progress import Progress

HEARTBEAT = 20.0
"""In a pipe, a running step says so at least this often, in seconds."""

REDRAW = 1.0
"""On a terminal, how often the elapsed times move, in seconds."""

LIVE_LINES = 8
"""At most this many running steps have a live line: a tall live area scrolls away and cannot be redrawn."""


@dataclass(slots=True, eq=False)
class Step:
    """A step that was started. `spoke`: when something about it was last written."""

    title: str
    parent: Step | None
    started: float
    spoke: float
    note: str = ""
    children: int = 0

    @property
    def indent(self) -> str:
        return "" if self.parent is None else self.parent.indent + "  "


class View(Protocol):
    """How steps look somewhere. Called under one lock; `running` is in the order of their start."""

    def started(self, step: Step, running: list[Step], now: float) -> None: ...
    def ended(self, step: Step, running: list[Step], now: float, *, failed: bool) -> None: ...
    def remark(self, text: str, running: list[Step], now: float) -> None: ...
    def tick(self, running: list[Step], now: float) -> float:
        """Write what is due; return in how many seconds something is due next."""
        ...


class ViewedProgress:
    """Progress that keeps the books for a view. Safe to use from several threads at once.

    A thread's steps nest in each other; the first step of another thread nests in whatever runs in the thread
    that made this object, as the downloads of a pool do.
    """

    def __init__(self, view: View, clock: Clock) -> None:
        self._view = view
        self._clock = clock
        self._lock = threading.Lock()
        self._owner = threading.get_ident()
        self._stacks: dict[int, list[Step]] = {}
        self._running: list[Step] = []

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        step = self._start(one_line(title))
        try:
            yield
        except BaseException:
            self._end(step, failed=True)
            raise
        self._end(step, failed=False)

    def note(self, text: str) -> None:
        with self._lock:
            step = self._innermost()
            if step is None:
                self._view.remark(one_line(text), self._running, self._clock.monotonic())
            else:
                step.note = one_line(text)

    def tick(self) -> float:
        """Write what is due; return in how many seconds something is due next."""
        with self._lock:
            return self._view.tick(self._running, self._clock.monotonic())

    def _innermost(self) -> Step | None:
        stack = self._stacks.get(threading.get_ident()) or self._stacks.get(self._owner)
        return stack[-1] if stack else None

    def _start(self, title: str) -> Step:
        with self._lock:
            now = self._clock.monotonic()
            step = Step(title=title, parent=self._innermost(), started=now, spoke=now)
            if step.parent is not None:
                step.parent.children += 1
            self._stacks.setdefault(threading.get_ident(), []).append(step)
            self._running.append(step)
            self._view.started(step, self._running, now)
            return step

    def _end(self, step: Step, *, failed: bool) -> None:
        with self._lock:
            now = self._clock.monotonic()
            stack = self._stacks[threading.get_ident()]
            stack.remove(step)
            if not stack:
                del self._stacks[threading.get_ident()]
            self._running.remove(step)
            if step.parent is not None:
                step.parent.children -= 1
                step.parent.spoke = now
            self._view.ended(step, self._running, now, failed=failed)


class PlainView:
    """Lines for a pipe, a journal, a log file."""

    def __init__(self, stream: TextIO) -> None:
        self._out = Output(stream)
        self._dots = "…" if self._out.can_write("…") else "..."

    def started(self, step: Step, _running: list[Step], _now: float) -> None:
        self._out.write(f"{step.indent}start {step.title}\n")

    def ended(self, step: Step, _running: list[Step], now: float, *, failed: bool) -> None:
        verb = "FAILED" if failed else "done"
        self._out.write(f"{step.indent}{verb} {step.title} ({duration(now - step.started)}){_after(step)}\n")

    def remark(self, text: str, _running: list[Step], _now: float) -> None:
        self._out.write(text + "\n")

    def tick(self, running: list[Step], now: float) -> float:
        # A step with children lets them speak.
        leaves = [step for step in running if not step.children]
        for step in leaves:
            if now - step.spoke >= HEARTBEAT:
                elapsed = f"{now - step.started:.0f} s"
                self._out.write(
                    f"{step.indent}{self._dots} still in {step.title} ({elapsed}){_after(step)}\n"
                )
                step.spoke = now
        return min((HEARTBEAT - (now - step.spoke) for step in leaves), default=HEARTBEAT)


class TerminalView:
    """Lines that move: finished steps scroll up, running ones stay below them."""

    def __init__(self, stream: TextIO) -> None:
        self._out = Output(stream)
        pretty = self._out.can_write("✓✗…")
        self._done, self._failed, self._dots = ("✓", "✗", "…") if pretty else ("ok", "FAILED", "...")
        self._drawn = 0

    def started(self, _step: Step, running: list[Step], now: float) -> None:
        self._draw(running, now)

    def ended(self, step: Step, running: list[Step], now: float, *, failed: bool) -> None:
        mark = self._failed if failed else self._done
        line = f"{step.indent}{mark} {step.title}  {duration(now - step.started)}{_after(step)}"
        self._draw(running, now, above=line)

    def remark(self, text: str, running: list[Step], now: float) -> None:
        self._draw(running, now, above=text)

    def tick(self, running: list[Step], now: float) -> float:
        if running:
            self._draw(running, now)
        return REDRAW

    def _draw(self, running: list[Step], now: float, above: str | None = None) -> None:
        """Redraw the live lines, with one line that stays above them."""
        erase = f"\x1b[{self._drawn}A\r\x1b[J" if self._drawn else ""
        width = self._out.columns() - 1  # a full last column would wrap on some terminals
        live = [self._live_line(step, now) for step in running[-LIVE_LINES:]]
        kept = [] if above is None else [above]
        self._out.write(erase + "".join(f"{line}\n" for line in [*kept, *(line[:width] for line in live)]))
        self._drawn = len(live)

    def _live_line(self, step: Step, now: float) -> str:
        elapsed = duration(now - step.started, tenths=False)
        return f"{step.indent}{self._dots} {step.title}  {elapsed}{_after(step)}"


class Output:
    """A stream for people. When it breaks (a closed terminal, a full pipe's reader gone) it falls silent."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._broken = False

    def write(self, text: str) -> None:
        if self._broken:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the work goes on: what it does matters more than who watches
            self._broken = True

    def can_write(self, text: str) -> bool:
        try:
            text.encode(getattr(self._stream, "encoding", None) or "ascii")
        except (UnicodeError, LookupError):
            return False
        return True

    def columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80


def view_for(stream: TextIO) -> View:
    """Live lines where the stream is a terminal that can move its cursor, plain lines elsewhere."""
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return TerminalView(stream)
    return PlainView(stream)


def open_progress(stream: TextIO, clock: Clock) -> AbstractContextManager[Progress]:
    """Progress on `stream` for as long as the block runs; elapsed times move without the work's help."""
    return _ticking(ViewedProgress(view_for(stream), clock))


@contextmanager
def _ticking(progress: ViewedProgress) -> Iterator[Progress]:
    ended = threading.Event()

    def keep_ticking() -> None:
        # Not longer than a redraw, though nothing may be due: a step may start right after we looked.
        while not ended.wait(max(0.1, min(progress.tick(), REDRAW))):
            pass

    ticker = threading.Thread(target=keep_ticking, name="progress", daemon=True)
    ticker.start()
    try:
        yield progress
    finally:
        ended.set()
        ticker.join()


def duration(seconds: float, *, tenths: bool = True) -> str:
    """`0.4 s`, `12.3 s`, `2 min 05 s`, `1 h 04 min`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s" if tenths else f"{int(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def one_line(text: str) -> str:
    """`text` without line breaks and control characters: a title never moves the cursor."""
    return "".join(char if char.isprintable() else " " for char in text).strip()


def _after(step: Step) -> str:
    return f"  {step.note}" if step.note else ""
