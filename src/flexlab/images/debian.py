"""Programs from Debian packages, unpacked and never installed: what an image needs besides what we build."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from flexlab.base.sources import derive_sources, render_one_line
from flexlab.model import Suite
from flexnode.host import Command, run
from flexnode.host.apt_sources import load_sources

SUITE = Suite.BOOKWORM
"""The oldest system of the laboratory: what runs on its kernel runs on the newer ones."""


def extract_packages(packages: Iterable[str], folder: Path) -> str:
    """Unpack `packages` and what they depend on into `folder`; return what the tool printed."""
    sources = [line for source in derive_sources(load_sources(), SUITE) for line in render_one_line(source)]
    done = run(
        Command(
            argv=(
                "mmdebstrap",
                "--quiet",
                "--variant=extract",
                "--format=directory",
                f"--include={','.join(packages)}",
                SUITE.value,
                str(folder),
                *sources,
            ),
            timeout=600,
        )
    )
    return done.stderr.decode(errors="replace")
