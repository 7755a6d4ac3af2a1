"""Where the machine's own packages come from, and the same archive for another suite.

The laboratory asks no archive that the machine was not already told to ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flexlab.errors import LabError
from flexlab.model import Suite
from flexnode.host.apt_sources import AptSource

_POCKETS = ("", "-updates", "-security")


def derive_sources(sources: Iterable[AptSource], suite: Suite) -> list[AptSource]:
    """The sources that give `suite` with its updates and security fixes, from the archives the machine uses.

    A machine that knows the suite is taken at its word; else the name of the suite it does know is replaced.
    """
    for known in (suite, *(other for other in Suite if other is not suite)):
        derived = [
            replace(
                source,
                suites=tuple(name.replace(known, suite, 1) for name in names),
                components=("main",),
            )
            for source in sources
            if "main" in source.components
            and (names := [name for name in source.suites if name in {known + pocket for pocket in _POCKETS}])
        ]
        if any(suite in source.suites for source in derived):
            return derived
    raise LabError(
        f"apt on this machine has no archive of Debian {' or '.join(Suite)}",
        code="lab/no-apt-archive",
        hint="add a Debian archive to /etc/apt/sources.list.d; the laboratory makes its machines from it",
    )


def render_one_line(source: AptSource) -> list[str]:
    """One line per suite; the form that mmdebstrap takes as an argument."""
    options = f"[signed-by={source.signed_by}] " if source.signed_by.startswith("/") else ""
    components = " ".join(source.components)
    return [f"deb {options}{source.uri} {suite} {components}" for suite in source.suites]
