"""How long a bootstrap may take, as people write it; and what they see of a wrong command line."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.cli.bootstrap import Duration
from flexnode.cli.ending import run
from flexnode.cli.root import root


def parse(text: str) -> float:
    return Duration().convert(text, None, None)


def aks_flex_node(*words: object) -> int:
    return run(root, "aks-flex-node", [str(word) for word in words])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15m", 900),
        ("90s", 90),
        ("90", 90),
        ("1h30m", 5400),
        ("2h", 7200),
        ("1h1m1s", 3661),
        ("1h1m1", 3661),
        ("0h5m", 300),
        ("1.5h", 5400),
        ("1d", 86400),
    ],
)
def test_durations_as_people_write_them(text: str, seconds: float) -> None:
    assert parse(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "m",
        "15 m",
        "m15",
        "-5m",
        "15min",
        "0",
        "0s",
        "0h0m",
        "\N{DIGIT ONE}x",
        "٣m",
    ],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    """No time at all would fail each bootstrap in its first second."""
    with pytest.raises(click.BadParameter) as caught:
        parse(text)
    assert "15m" in caught.value.message


@given(st.integers(0, 99), st.integers(0, 999), st.integers(1, 9999))
def test_every_part_counts(hours: int, minutes: int, seconds: int) -> None:
    assert parse(f"{hours}h{minutes}m{seconds}s") == hours * 3600 + minutes * 60 + seconds


@given(st.text(max_size=12))
def test_nothing_that_is_typed_breaks_it(text: str) -> None:
    with suppress(click.BadParameter):
        assert parse(text) > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--timeout", "soon"), "15m, 90s or 1h30m"),
        (("--timeout", "0"), "15m, 90s or 1h30m"),
        (("--ignore", "swapp", "--config", "/nonexistent/config.json"), "did you mean swap?"),
        (("--nonsense",), "--nonsense"),
    ],
)
def test_a_wrong_command_line_changes_nothing_and_ends_with_2(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert aks_flex_node("bootstrap", *words) == 2
    assert said in capsys.readouterr().err


def test_a_configuration_that_is_not_valid_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"apiVersion": "flexnode.io/v1", "kind": "NodeConfig", "kubelet": {"maxPod": 5}}')
    for words in (("plan",), ("plan", "bootstrap")):
        assert aks_flex_node(*words, "--config", path) == 2
        assert "did you mean kubelet.maxPods?" in capsys.readouterr().err


def test_an_unknown_operation_cannot_be_planned(capsys: pytest.CaptureFixture[str]) -> None:
    assert aks_flex_node("plan", "nonsense") == 2
    assert "unbootstrap" in capsys.readouterr().err
