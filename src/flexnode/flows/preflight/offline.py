"""What helps a machine that reaches no source of its files."""

from __future__ import annotations

from flexnode.flows.preflight.situation import Situation


def tell_bundle(situation: Situation) -> str:
    """The command that makes this machine's bundle elsewhere, as the end of a hint."""
    facts, parts = situation.facts, situation.parts
    words = ["aks-flex-node artifacts bundle FILE"]
    words += [f"--kubernetes {parts.kubernetes}"] if parts else []
    words += [f"--arch {facts.arch}", f"--suite {facts.codename}"]
    return f"`{' '.join(words)}` elsewhere, and name FILE in artifacts.sources"
