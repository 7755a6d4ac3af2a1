"""`aks-flex-node version`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import flexnode
from flexnode.catalog import load_catalog
from flexnode.cli.output import emit, verb_options


@click.command()
@verb_options
def version(output: str) -> None:
    """Show the version, the commit it was built from, Python's version, and the catalog's."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    data = {
        "version": flexnode.__version__,
        "commit": find_commit(Path(flexnode.__file__).parent),
        "python": python,
        "catalog": load_catalog().version,
    }
    commit = f" (commit {data['commit'][:12]})" if data["commit"] else ""
    text = f"aks-flex-node {data['version']}{commit}\nPython {python}\ncatalog {data['catalog']}"
    emit(output, text=text, data=data)


def find_commit(package: Path) -> str:
    """The commit of this program: what its build recorded, or what is checked out; empty if nobody knows."""
    recorded = package / "COMMIT"
    if recorded.is_file():
        return recorded.read_text().strip()
    git = package.parents[1] / ".git"
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if (git / name).is_file():
            return (git / name).read_text().strip()
        packed = (git / "packed-refs").read_text().splitlines()
    except OSError:  # not a checkout, or one of a shape that is not worth more effort here
        return ""
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
