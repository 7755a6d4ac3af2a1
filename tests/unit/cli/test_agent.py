"""The verb that systemd runs."""

from __future__ import annotations

import pytest

from flexnode.cli.ending import run
from flexnode.cli.root import VERBS, root


@pytest.mark.parametrize("verb", ["agent", "bundle", "status"])
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, "aks-flex-node", [verb, "--help"]) == 0
    assert "--config FILE" in capsys.readouterr().out
    assert VERBS[verb][1].endswith(".")


def test_a_level_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, "aks-flex-node", ["agent", "--log-level", "loud"]) == 2
    assert "loud" in capsys.readouterr().err
