"""Checks of the user's packet filters: what they would drop. No rule is touched."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flexnode.errors import CommandError
from flexnode.flows.preflight.check import Finding, ok, warning
from flexnode.flows.preflight.reading import find_text
from flexnode.flows.preflight.situation import Situation
from flexnode.host.command import Command
from flexnode.host.door import Host

FIREWALLD = "firewalld.service"

OURS = ("aks-flex-node", "kube-proxy")
"""Tables that are not the user's."""

ALLOW = "allow what is forwarded to and from pods, and TCP 10250 from the control plane"

_TABLE = re.compile(r"table (\S+) (\S+) \{")
_CHAIN = re.compile(r"chain (\S+) \{")
_POLICY = re.compile(r"hook (input|forward) .*policy drop;")
_IPTABLES_POLICY = re.compile(r"^:(INPUT|FORWARD) DROP ", re.MULTILINE)


def check_firewall(situation: Situation) -> Iterator[Finding]:
    findings = [
        *_ufw(situation.host),
        *_firewalld(situation.host),
        *_policies(situation.host),
    ]
    yield from findings
    if not findings:
        yield ok("nothing is seen to drop what nodes and pods send")


def _ufw(host: Host) -> Iterator[Finding]:
    enabled = re.search(r"^ENABLED=yes", find_text(host, "/etc/ufw/ufw.conf") or "", re.MULTILINE)
    if not enabled:
        return
    defaults = find_text(host, "/etc/default/ufw") or ""
    forwards = re.search(r'^DEFAULT_FORWARD_POLICY="?ACCEPT', defaults, re.MULTILINE)
    yield warning(
        "preflight/firewall-ufw",
        "ufw is on" + ("" if forwards else ", and drops what is forwarded: pods would reach nothing"),
        hint="ufw allow 10250/tcp; ufw default allow routed; what else comes in (NodePorts, the network of"
        " the cluster) is yours to allow",
    )


def _firewalld(host: Host) -> Iterator[Finding]:
    if host.units.find(FIREWALLD).active:
        yield warning(
            "preflight/firewall-firewalld",
            "firewalld is on, and each of its reloads removes rules that it does not know",
            hint="firewall-cmd --permanent --add-port=10250/tcp, --zone=trusted --add-source=POD-RANGE and"
            " --zone=trusted --add-interface=cni0, then firewall-cmd --reload",
        )


def _policies(host: Host) -> Iterator[Finding]:
    """Chains that drop by default. nftables shows those of iptables too, but for the legacy ones."""
    dropping = list(dict.fromkeys([*_nftables(host), *_iptables(host)]))
    for hook in ("forward", "input"):
        chains = [chain for its, chain in dropping if its == hook]
        if chains:
            what = "what is forwarded, so pods would reach nothing" if hook == "forward" else "what comes in"
            yield warning(
                f"preflight/firewall-{hook}",
                f"{', '.join(chains)} drops {what}, unless a rule of yours says otherwise",
                hint=f"{ALLOW}; see nft list ruleset",
            )


def _nftables(host: Host) -> Iterator[tuple[str, str]]:
    """Hook and name of each chain of the user's whose policy is to drop."""
    table = chain = ""
    for line in _ask(host, "nft", "list", "chains").splitlines():
        text = line.strip()
        if match := _TABLE.match(text):
            table = f"{match[1]} {match[2]}"
        elif match := _CHAIN.match(text):
            chain = match[1]
        elif (match := _POLICY.search(text)) and table.split()[-1] not in OURS:
            yield match[1], f"{table} {chain}"


def _iptables(host: Host) -> Iterator[tuple[str, str]]:
    for program, family in (("iptables-legacy-save", "ip"), ("ip6tables-legacy-save", "ip6")):
        for match in _IPTABLES_POLICY.finditer(_ask(host, program, "-t", "filter")):
            yield match[1].lower(), f"{family} filter {match[1]}"


def _ask(host: Host, *argv: str) -> str:
    """What a program prints; nothing where it is not installed, or its part of the kernel is not there."""
    try:
        return host.run(Command(argv=argv, timeout=15.0)).text
    except CommandError:
        return ""
