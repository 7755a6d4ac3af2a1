"""Runs a piece of Python where the machine itself is broken: its disk full, its name servers silent.

In user, mount and network namespaces of its own, which end with the process: needs no root, leaves nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from flexnode.host import Command, run


def run_isolated(script: str, *, setup: str = "", folder: Path, timeout: float = 60) -> Any:
    """The JSON that `script` (Python) prints, after `setup` (shell) changed the namespace around it."""
    path = folder / "script.py"
    path.write_text(script)
    shell = f'set -e; ip link set lo up; {setup}\nexec "{sys.executable}" -W error "{path}"'
    done = run(Command(argv=("unshare", "-rmn", "sh", "-c", shell), timeout=timeout, cwd=folder))
    return json.loads(done.text)
