"""The repository speaks of the product, and of nothing that only this machine or this week knows."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from architecture.foreign import REGISTRIES, ToolMissing, host_pattern, path_pattern

REPOSITORY = Path(__file__).resolve().parents[2]

UNFINISHED = re.compile(
    r"\b(?:" + "|".join(end + rest for end, rest in (("TO", "DO"), ("FIX", "ME"), ("X", "XX"))) + r")\b"
)


@cache
def files() -> dict[str, str]:
    """Every file that is in the repository or about to be, with its text."""
    # A checkout may belong to another user than the one who tests it, as in a container.
    git = ("git", "-c", "safe.directory=*")
    listing = (*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listing, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    texts = {}
    for name in names.split("\0"):
        path = REPOSITORY / name
        if name and path.is_file() and not path.is_symlink():
            texts[name] = path.read_bytes().decode("utf-8", errors="replace")
    return texts


def find(pattern: re.Pattern[str], texts: dict[str, str]) -> list[str]:
    return [
        f"{name}:{number}: {match.group()}"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (match := pattern.search(line))
    ]


@pytest.mark.parametrize("registry", sorted(REGISTRIES))
def test_no_package_registry_is_named(registry: str) -> None:
    """A user behind a mirror would otherwise be sent past it."""
    try:
        hosts = REGISTRIES[registry]()
    except ToolMissing as missing:
        pytest.skip(f"{missing} is not installed here, so nothing knows the registry's name")
    assert hosts, f"the {registry} registry could not be found out"
    found = find(host_pattern(hosts), files())
    assert not found, "\n".join(["write <mirror> instead:", *found])
    (host, *_) = sorted(hosts)
    assert find(host_pattern(hosts), {"sample": f"see https://{host}/simple"})


def test_no_path_of_this_machine_is_named() -> None:
    pattern = path_pattern(REPOSITORY, Path.home())
    found = find(pattern, files())
    assert not found, "\n".join(["", *found])
    assert find(pattern, {"sample": f"cd {REPOSITORY}/src"})


def test_nothing_is_left_for_later() -> None:
    found = find(UNFINISHED, files())
    assert not found, "\n".join(["", *found])
    assert find(UNFINISHED, {"sample": "# {}: later".format("".join(("TO", "DO")))})
