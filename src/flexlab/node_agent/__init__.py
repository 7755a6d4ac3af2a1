"""A node as a user makes it: the archive, its scripts and the product's verbs, on a machine of the lab."""

from flexlab.node_agent.config import compose_config
from flexlab.node_agent.join import build_command, find_archive, join, pack, prepare, unpack
from flexlab.node_agent.leave import leave
from flexlab.node_agent.ready import wait_until_ready
from flexlab.node_agent.terminal import PROGRAM, Terminal

__all__ = [
    "PROGRAM",
    "Terminal",
    "build_command",
    "compose_config",
    "find_archive",
    "join",
    "leave",
    "pack",
    "prepare",
    "unpack",
    "wait_until_ready",
]
