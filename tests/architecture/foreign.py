"""What belongs to a machine and not to the repository: its package registries, its folders.

The names are asked of the machine's own tools, what they are set to and what they would do by default: no
such name stands here either.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which

HOST = re.compile(r"[a-z]+://(?:[^/@\s]*@)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)")


class ToolMissing(Exception):
    """The tool that knows the registry is not on this machine, so the machine cannot have used it."""


def ask(*argv: str, plain: bool = False) -> str:
    """What a tool answers; `plain`: without the settings of this machine and its user."""
    if which(argv[0]) is None:
        raise ToolMissing(argv[0])
    env = {**os.environ}
    if plain:
        kept = ("PATH", "LANG")
        env = {name: os.environ[name] for name in kept if name in os.environ}
        env |= {"HOME": "/nonexistent", "GOENV": "off", "GOCACHE": "off", "GOTOOLCHAIN": "local"}
    return subprocess.run(argv, env=env, check=True, capture_output=True, text=True, timeout=60).stdout


def hosts_in(text: str) -> set[str]:
    return set(HOST.findall(text.lower()))


def python_hosts() -> set[str]:
    default = (
        "from pip._internal.models.index import PyPI; print(PyPI.url, 'https://' + PyPI.file_storage_domain)"
    )
    return hosts_in(ask(sys.executable, "-c", default) + ask(sys.executable, "-m", "pip", "config", "list"))


def go_hosts() -> set[str]:
    answers = []
    for plain in (False, True):
        answers.append(ask("go", "env", "GOPROXY", plain=plain))
        # The checksum database is a bare name, or a name with its key and address behind it.
        answers.append("https://" + ask("go", "env", "GOSUMDB", plain=plain))
    return hosts_in("\n".join(answers))


def node_hosts() -> set[str]:
    registry = ("npm", "config", "get", "registry")
    return hosts_in(ask(*registry) + ask(*registry, plain=True))


def archive_hosts() -> set[str]:
    """The archives that apt is set to, and those that mmdebstrap, where there is one, would use by itself."""
    text = ask("apt-get", "indextargets", "--format", "$(SITE)")
    if program := which("mmdebstrap"):
        text += "\n".join(
            re.findall(r"\bhttps?://[a-z0-9.-]+/(?:debian|ubuntu)\S*", Path(program).read_text())
        )
    return hosts_in(text)


REGISTRIES: dict[str, Callable[[], set[str]]] = {
    "python": python_hosts,
    "go": go_hosts,
    "node": node_hosts,
    "archives": archive_hosts,
}


def host_pattern(hosts: set[str]) -> re.Pattern[str]:
    """Any of `hosts`, not as the end of a longer name (`site.org` in `www.site.org` is another host)."""
    names = "|".join(re.escape(host) for host in sorted(hosts))
    return re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])", re.IGNORECASE)


def path_pattern(checkout: Path, home: Path) -> re.Pattern[str]:
    """A path in the checkout, of something in this home, or of a scratch file of somebody's session."""
    # Every root and every user has these; a product that speaks of machines may name them.
    usual = {".ssh", ".bashrc", ".profile"}
    here = [checkout, *(entry for entry in home.iterdir() if entry.name not in usual)]
    names = "|".join(re.escape(str(path)) for path in sorted(here))
    # Not after a word or a brace: `{root}/home` and `usr/root` are not this machine's.
    return re.compile(rf"(?<![\w.}})-])(?:(?:{names})(?![\w-])|/tmp/\w)")
