"""One change of a lab at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flexlab.errors import LabError
from flexlab.paths import labs_dir


def lock_path(name: str) -> Path:
    # Beside the lab's folder, not in it: `down` deletes the folder while it holds the lock.
    return labs_dir() / f".{name}.lock"


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lab of that name; the kernel lets go of it when this process ends, however it ends."""
    path = lock_path(name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    while True:
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise LabError(
                    f"another flexlab is changing lab {name}",
                    code="lab/busy",
                    transient=True,
                    hint="wait for it, or end it",
                ) from error
            # A `down` may have deleted the file between our opening and our locking it.
            if not path.exists() or os.fstat(file.fileno()).st_ino != path.stat().st_ino:
                continue
            yield
            return
