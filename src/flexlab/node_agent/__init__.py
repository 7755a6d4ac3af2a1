"""A node as a user makes it: the archive, its scripts and the product's verbs, on a machine of the lab."""

from flexlab.node_agent.config import compose_config
from flexlab.node_agent.join import join, prepare
from flexlab.node_agent.leave import leave
from flexlab.node_agent.ready import wait_until_ready
from flexlab.node_agent.terminal import Terminal

__all__ = ["Terminal", "compose_config", "join", "leave", "prepare", "wait_until_ready"]
