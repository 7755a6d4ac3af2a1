"""`aks-flex-node cluster setup | token | node-config | approve`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flexnode.cli.output import RESERVATION, emit, verb_options
from flexnode.clock import SystemClock
from flexnode.errors import FlexError, UsageError
from flexnode.secret import Secret

if TYPE_CHECKING:
    from flexnode.flows.cluster_approval import Decision, Review
    from flexnode.kube import Connection, KubeClient
    from flexnode.kube.tokens import NewToken, TokenInfo
    from flexnode.progress import Progress

F = TypeVar("F", bound=Callable[..., Any])

TTL = "24h"
TTL_HELP = "How long the token is good for: 30m, 24h, 7d; 0 is for ever."


@click.group()
def cluster() -> None:
    """Prepare a cluster for nodes, from wherever its administrator works."""


def cluster_options(command: F) -> F:
    """How to reach the cluster: `kubeconfig` and `context`."""
    command = click.option(
        "--context",
        metavar="NAME",
        default="",
        help="A context of the kubeconfig.  [default: its current one]",
    )(command)
    return click.option(
        "--kubeconfig",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="How to reach the cluster, as its administrator.  [default: $KUBECONFIG, else ~/.kube/config]",
    )(command)


@cluster.command(short_help="Give the cluster what nodes need.")
@click.option("--dry-run", is_flag=True, help="Print what would be applied; no cluster is asked.")
@cluster_options
@verb_options
def setup(dry_run: bool, kubeconfig: Path | None, context: str, output: str) -> None:
    """Give the cluster what nodes need to join it and to leave it. Run it once; running it again is safe.

    Machines with a token of `cluster token` may ask for a kubelet certificate and get it approved, and may
    see whether their name is taken. Nodes may read by name what they are composed from, and delete their own
    Node object, which an admission policy limits to just that.
    """
    from flexnode.flows.cluster import set_up_cluster
    from flexnode.kube.manifests import compose_setup

    if dry_run:
        manifests = compose_setup()
        data = {"apiVersion": "v1", "kind": "List", "items": manifests}
        emit(output, text=_render_manifests(manifests) if output == "text" else "", data=data)
        return
    with _open(kubeconfig, context) as (api, _), _progress() as progress:
        pieces = set_up_cluster(api, clock=SystemClock(), progress=progress)
    lines = [f"{piece.result.value:<10}{piece}" for piece in pieces]
    lines.append("next: `aks-flex-node cluster node-config --token new` makes a configuration for a node")
    data = {
        "objects": [
            {
                "kind": piece.kind,
                "name": piece.name,
                "namespace": piece.namespace,
                "result": piece.result.value,
            }
            for piece in pieces
        ]
    }
    emit(output, text="\n".join(lines), data=data)


@cluster.command(short_help="Make, list or delete bootstrap tokens.")
@click.option("--ttl", metavar="TIME", default=TTL, show_default=True, help=TTL_HELP)
@click.option(
    "--description", metavar="TEXT", default="", help="What the token is for, for those who list it."
)
@click.option(
    "--list", "listing", is_flag=True, help="Show the tokens that the cluster knows, and make none."
)
@click.option(
    "--delete", "doomed", metavar="ID", help="Take a token away: the six characters before its dot."
)
@cluster_options
@verb_options
def token(
    ttl: str,
    description: str,
    listing: bool,
    doomed: str | None,
    kubeconfig: Path | None,
    context: str,
    output: str,
) -> None:
    """Make a bootstrap token and print it: whoever has it can join machines for as long as it is good.

    `cluster setup` must have run once. Nodes that have joined do not need the token any more.
    """
    from flexnode.flows.cluster_lifetime import parse_ttl
    from flexnode.kube.tokens import create_token, delete_token, list_tokens

    if listing and doomed is not None:
        raise UsageError("--list contradicts --delete", hint="drop one of them")
    lifetime = parse_ttl(ttl)
    with _open(kubeconfig, context) as (api, _):
        if listing:
            tokens = list_tokens(api)
            text = "\n".join(_render_token(each) for each in tokens) or "the cluster knows no bootstrap token"
            emit(output, text=text, data={"tokens": [_token_data(each) for each in tokens]})
        elif doomed is not None:
            delete_token(api, doomed)
            gone = doomed.partition(".")[0]
            emit(output, text=f"deleted the token {gone}", data={"deleted": gone})
        else:
            made = create_token(api, clock=SystemClock(), ttl=lifetime, description=description)
            # The token alone on stdout, so that a script can take it from there.
            _note_expiry(made)
            data = {"token": made.token.reveal(), **_token_data(made.info)}
            emit(output, text=made.token.reveal(), data=data)


@cluster.command("node-config", short_help="Print a configuration for nodes of this cluster.")
@click.option(
    "--token",
    "given",
    metavar="TOKEN|new|-",
    help="The bootstrap token to put in: `new` makes one, `-` reads one from standard input, where other "
    "users of this machine do not see it.",
)
@click.option("--ttl", metavar="TIME", default=TTL, show_default=True, help=TTL_HELP)
@click.option(
    "--server",
    metavar="URL",
    default="",
    help="The address at which nodes reach the API server.  [default: the kubeconfig's]",
)
@cluster_options
@verb_options
def node_config(
    given: str | None, ttl: str, server: str, kubeconfig: Path | None, context: str, output: str
) -> int:
    """Print a configuration with which a machine joins this cluster.

    It is JSON, for /etc/aks-flex-node/config.json. With a token in it the document is a secret: keep it in a
    file that only root may read (0600).
    """
    from flexnode.flows.cluster_lifetime import parse_ttl
    from flexnode.flows.cluster_node_config import make_node_config
    from flexnode.kube.tokens import create_token, split_token

    lifetime = parse_ttl(ttl)
    secret = None if given in (None, "new") else Secret(sys.stdin.read() if given == "-" else str(given))
    if secret is not None:
        split_token(secret)
    with _open(kubeconfig, context) as (api, connection), _progress() as progress:
        made = make_node_config(
            api, connection, server=server, token=secret, clock=SystemClock(), progress=progress
        )
        if given == "new":
            # Last, so that no token is made for a document that could not be.
            fresh = create_token(api, clock=SystemClock(), ttl=lifetime, description="a node configuration")
            made = made.with_token(fresh.token)
            _note_expiry(fresh)
    for line in made.missing:
        click.echo(f"not in it: {line}", err=True)
    # The document is the outcome in either form of output.
    emit("json", text="", data=made.document)
    return RESERVATION if made.missing else 0


@cluster.command(short_help="Approve kubelets' serving certificates.")
@click.option("--watch", is_flag=True, help="Go on: approve requests as they come.")
@click.option(
    "--timeout",
    metavar="TIME",
    help="With --watch: end after so long, e.g. 15m.  [default: when interrupted]",
)
@cluster_options
@verb_options
def approve(watch: bool, timeout: str | None, kubeconfig: Path | None, context: str, output: str) -> int:
    """Approve kubelets' requests for serving certificates, which a cluster does not do by itself.

    A request is approved when requester and subject are the same node, its usages are those of a server, and
    every name in it is among the addresses of that Node. Others stay open, and are named with the reason.
    """
    from flexnode.flows.cluster_approval import Approver
    from flexnode.flows.cluster_lifetime import parse_length

    if timeout is not None and not watch:
        raise UsageError(
            "--timeout needs --watch", hint="without --watch there is one look, which ends by itself"
        )
    limit = None if timeout is None else parse_length(timeout)
    decided: list[Decision] = []

    def tell(decision: Decision) -> None:
        decided.append(decision)
        click.echo(_render_decision(decision), err=output == "json")

    def complain(error: FlexError) -> None:
        click.echo(f"for now: {error.message}", err=True)

    with _open(kubeconfig, context) as (api, _):
        holder = f"aks-flex-node cluster approve on {os.uname().nodename}"
        approver = Approver(api=api, clock=SystemClock(), holder=holder, tell=tell, trouble=complain)
        review: Review = (
            approver.run(None if limit is None else limit.total_seconds()) if watch else approver.review()
        )
    emit(
        output,
        text="" if decided else "no kubelet asks for a serving certificate",
        data=_approval_data(decided, review),
    )
    return RESERVATION if review.refused else 0


@contextmanager
def _open(kubeconfig: Path | None, context: str) -> Iterator[tuple[KubeClient, Connection]]:
    from flexnode.flows.cluster_access import Access, load_access
    from flexnode.kube import KubeClient

    connection = load_access(Access(kubeconfig=kubeconfig, context=context, environ=os.environ))
    with KubeClient(connection, SystemClock()) as client:
        yield client, connection


def _progress() -> AbstractContextManager[Progress]:
    from flexnode.cli.progress import open_progress

    return open_progress(sys.stderr, SystemClock())


def _note_expiry(made: NewToken) -> None:
    expires = made.info.expires
    when = "never expires" if expires is None else f"expires at {expires:%Y-%m-%d %H:%M} UTC"
    click.echo(f"token {made.info.identifier} {when}", err=True)


def _render_manifests(manifests: tuple[dict[str, Any], ...]) -> str:
    import yaml

    documents = (yaml.safe_dump(manifest, sort_keys=False, width=110) for manifest in manifests)
    return "---\n".join(documents).rstrip()


def _render_token(info: TokenInfo) -> str:
    expires = "never" if info.expires is None else f"{info.expires:%Y-%m-%d %H:%M} UTC"
    return f"{info.identifier}  expires {expires}  {', '.join(info.groups)}  {info.description}".rstrip()


def _token_data(info: TokenInfo) -> dict[str, Any]:
    return {
        "id": info.identifier,
        "expires": None if info.expires is None else info.expires.isoformat(),
        "description": info.description,
        "groups": list(info.groups),
    }


def _render_decision(decision: Decision) -> str:
    if decision.approved:
        return f"approved {decision.request} of {decision.requester}"
    return f"left open {decision.request} of {decision.requester}: {decision.flaw}"


def _approval_data(decided: list[Decision], review: Review) -> dict[str, Any]:
    return {
        "approved": [
            {"request": each.request, "requester": each.requester} for each in decided if each.approved
        ],
        "refused": [
            {"request": each.request, "requester": each.requester, "reason": each.flaw}
            for each in review.refused
        ],
    }
