"""How soon the program answers, on this machine, as it is installed from its archive."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flexlab.bench.cpu import count_here
from flexlab.bench.report import Measurement
from flexlab.errors import LabError
from flexlab.node_agent import PROGRAM, build_command, find_archive
from flexnode.clock import Clock
from flexnode.host import Command, run
from flexnode.progress import Progress

ROUNDS, CPU_ROUNDS = 20, 10
BAR = 120.0

PLACES = (Path("/usr/bin"), Path("/usr/local/bin"))
"""Where the installed program looks for its Python."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Installation:
    """The archive, unpacked, and the Python that it runs with."""

    program: Path
    python: Path


def measure_start_up(progress: Progress, clock: Clock) -> Iterator[Measurement]:
    with installed(progress) as here:
        programs = {
            "python3 -c pass": (str(here.python), "-c", "pass"),
            f"{PROGRAM} version": (str(here.program), "version"),
            f"{PROGRAM} status": (str(here.program), "status"),
        }
        times = time_in_turns(programs, clock, progress)
        with progress.step("the same by the seconds of a processor"):
            used = {name: count_here(argv, repeats=CPU_ROUNDS) * 1000 for name, argv in programs.items()}
    bare, *own = programs
    yield Measurement(name=f"{bare}, start to end", value=times[bare], unit="ms")
    for name in own:
        yield Measurement(
            name=f"{name}, start to end",
            value=times[name],
            unit="ms",
            compared_with="the bar",
            reference=BAR,
            bar=True,
        )
    for name in own:
        yield Measurement(
            name=f"{name}, CPU",
            value=used[name],
            unit="ms",
            compared_with=f"{bare}, CPU",
            reference=used[bare],
        )


def time_in_turns(
    programs: dict[str, tuple[str, ...]], clock: Clock, progress: Progress, *, rounds: int = ROUNDS
) -> dict[str, float]:
    """The median of each in milliseconds; they take turns, so that what disturbs one disturbs all."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    with progress.step(f"{rounds} starts each of {', '.join(programs)}"):
        for argv in programs.values():  # once uncounted: from then on everything is in memory
            run(Command(argv=argv))
        for _ in range(rounds):
            for name, argv in programs.items():
                begin = clock.monotonic()
                run(Command(argv=argv))
                times[name].append((clock.monotonic() - begin) * 1000)
    return {name: statistics.median(each) for name, each in times.items()}


@contextmanager
def installed(progress: Progress) -> Iterator[Installation]:
    """The archive for a Python of this machine, unpacked into a folder that goes with the block."""
    python = find_python(PLACES)
    with tempfile.TemporaryDirectory(prefix="flexlab-") as name:
        folder = Path(name)
        with progress.step("build the archive, and unpack it"):
            run(Command(argv=build_command(python.name.removeprefix("python"), folder), timeout=600))
            program = unpack(find_archive(folder), folder)
        yield Installation(program=program, python=python)


def unpack(archive: Path, folder: Path) -> Path:
    """Where the program of the archive lies then."""
    run(Command(argv=("tar", "-C", str(folder), "-xzf", str(archive))))
    return folder / archive.name.removesuffix(".tar.gz") / "bin" / PROGRAM


def find_python(places: Sequence[Path]) -> Path:
    """A Python where the installed program looks for one; of the line that runs this, if there is one."""
    own = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for name in (own, "python3.13", "python3.12", "python3.11"):
        for place in places:
            if (place / name).exists():
                return place / name
    raise LabError(
        f"there is no Python 3.11 to 3.13 in {' or '.join(map(str, places))}",
        code="bench/no-python",
        hint="install python3: the archive of the program is for the one that the system has",
    )
