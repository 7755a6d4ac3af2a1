"""The file that switches faults, and the settings that a command line can give them."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import get_args

import pytest

from flexlab.artifact_server import (
    BadTls,
    Fault,
    FlipBit,
    NotFound,
    Reset,
    Slow,
    Stall,
    Throttle,
    TlsFlaw,
    add_fault,
    clear_faults,
    load_faults,
    parse_fault,
    write_faults,
)
from flexlab.errors import LabError
from flexnode.errors import UsageError


def test_what_is_switched_on_is_what_the_server_reads(tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    written = write_faults(file, [FlipBit(offset=3), BadTls(flaw=TlsFlaw.EXPIRED), Reset()])
    assert load_faults(file) == written


def test_a_fault_is_added_to_those_that_are_on_and_their_counts_go_on(tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    first = add_fault(file, Throttle(times=2))
    second = add_fault(file, Throttle(times=2))
    assert load_faults(file) == (first, second)
    assert first.id != second.id


def test_switching_off_what_is_off_does_nothing(tmp_path: Path) -> None:
    clear_faults(tmp_path / "faults.json")
    add_fault(tmp_path / "faults.json", NotFound())
    clear_faults(tmp_path / "faults.json")
    assert load_faults(tmp_path / "faults.json") == ()
    assert os.listdir(tmp_path) == []


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    sizes = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            sizes.add(len(load_faults(file)))

    reader = threading.Thread(target=read)
    reader.start()
    for count in (1, 50) * 50:
        write_faults(file, [NotFound()] * count)
    done.set()
    reader.join()
    assert sizes <= {0, 1, 50}


@pytest.mark.parametrize(
    "text", ["", "[]", '{"faults": 1}', '{"fault": []}', '{"faults": [{"kind": "slow", "speed": 1}]}']
)
def test_a_broken_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "faults.json").write_text(text)
    with pytest.raises(LabError) as caught:
        load_faults(tmp_path / "faults.json")
    assert caught.value.code == "lab/bad-faults"


@pytest.mark.parametrize(
    ("kind", "settings", "fault"),
    [
        ("not-found", {}, NotFound()),
        ("stall", {"after": "100", "path": "/v2/"}, Stall(after=100, path="/v2/")),
        ("slow", {"bytes_per_second": "0.5"}, Slow(bytes_per_second=0.5)),
        (
            "throttle",
            {"status": "503", "as_date": "true", "times": "2"},
            Throttle(status=503, as_date=True, times=2),
        ),
        ("reset", {"after": "7"}, Reset(after=7)),
        ("bad-tls", {"flaw": "wrong-host"}, BadTls(flaw=TlsFlaw.WRONG_HOST)),
    ],
)
def test_a_command_line_can_set_a_fault(kind: str, settings: dict[str, str], fault: Fault) -> None:
    assert parse_fault(kind, settings) == fault


@pytest.mark.parametrize(
    ("kind", "settings", "hint"),
    [
        ("sloww", {}, "not-found"),
        ("slow", {"speed": "1"}, "bytes_per_second"),
        ("slow", {"bytes_per_second": "0"}, "bytes_per_second"),
        ("throttle", {"status": "418"}, "status"),
        ("stall", {"after": "-1"}, "after"),
        ("not-found", {"times": "0"}, "times"),
    ],
)
def test_a_wrong_setting_is_answered_with_the_right_ones(
    kind: str, settings: dict[str, str], hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        parse_fault(kind, settings)
    assert hint in caught.value.hint


def test_every_fault_can_be_named_on_a_command_line() -> None:
    kinds = [each.__struct_config__.tag for each in get_args(Fault)]
    assert [parse_fault(kind, {}).__struct_config__.tag for kind in kinds] == kinds
