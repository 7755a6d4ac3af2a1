"""The program `aks-flex-node`: its verbs, imported one by one.

Verbs are imported only when they are called: nobody should wait for all of them before `--help`.
"""

from __future__ import annotations

from importlib import import_module
from typing import NoReturn

import click

from flexnode.cli.ending import end_with

PROGRAM = "aks-flex-node"

VERBS: dict[str, tuple[str, str]] = {
    "agent": ("flexnode.cli.agent:agent", "Make this machine a node and look after it: the daemon."),
    "artifacts": ("flexnode.cli.artifacts:artifacts", "Fill a mirror, make an offline bundle, check one."),
    "bootstrap": ("flexnode.cli.bootstrap:bootstrap", "Make this machine a node of its cluster."),
    "bundle": ("flexnode.cli.support_bundle:bundle", "Write a support bundle, secrets taken out."),
    "cluster": ("flexnode.cli.cluster:cluster", "Prepare a cluster for nodes: rights, tokens, approvals."),
    "config": ("flexnode.cli.config:config", "Show and check the configuration; its schema; old documents."),
    "plan": ("flexnode.cli.plan:plan", "Show what would change; change nothing."),
    "preflight": ("flexnode.cli.preflight:preflight", "Check whether this machine can become a node."),
    "recover": ("flexnode.cli.recover:recover", "End what a crash cut off."),
    "rollback": ("flexnode.cli.rollback:rollback", "Go back to the generation before the current one."),
    "status": ("flexnode.cli.status:status", "Show how the node is, and how it came to be so."),
    "unbootstrap": ("flexnode.cli.unbootstrap:unbootstrap", "Leave the cluster, and undo everything."),
    "version": ("flexnode.cli.version:version", "Show version, commit, Python and catalog version."),
}
"""Each verb: where its command lives, and one line of help that needs no import."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module, _, attribute = VERBS[name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, VERBS[name][1]) for name in self.list_commands(ctx)])


@click.group(
    PROGRAM,
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Shell completion (zsh_source and fish_source for other shells):\n\n\b\n"
    f'  eval "$(_AKS_FLEX_NODE_COMPLETE=bash_source {PROGRAM})"',
)
def root() -> None:
    """Turn this machine into a Kubernetes worker node, and look after it.

    Exit codes: 0 done; 1 failed; 2 wrong usage or configuration; 3 done, with a reservation; 10 `plan` found
    changes; 75 failed for now, or busy: try again.
    """


def main() -> NoReturn:
    """What the program `aks-flex-node` runs."""
    end_with(root, PROGRAM)
