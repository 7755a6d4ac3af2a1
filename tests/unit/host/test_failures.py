"""Whatever the machine refuses, its user is told what to do next."""

from __future__ import annotations

import pytest

from flexnode.host.failures import Code, failure


@pytest.mark.parametrize("code", list(Code))
def test_every_refusal_says_what_to_do(code: Code) -> None:
    assert failure(code, "it was refused").hint


def test_a_hint_that_knows_more_goes_before_the_usual_one() -> None:
    assert failure(Code.BUSY, "it is in use", hint="fuser -vm /mnt").hint == "fuser -vm /mnt"
