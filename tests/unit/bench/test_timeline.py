"""The picture of how a machine becomes a node: who opens it sees every step, how long it took, and when."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from flexlab.bench.steps import Row, Step
from flexlab.bench.timeline import LABEL_LETTERS, WIDTH, Mark, find_tick, render_timeline, shorten

SVG = "{http://www.w3.org/2000/svg}"

BOOT = Row(label="power-on to SSH", steps=(Step(name="power-on to SSH", begin=0.0, end=30.0),))
MANY = Row(
    label="apply, 2 below 0.5 s",
    steps=(
        Step(name="apply file:/etc/<a>&b", begin=30.0, end=30.25),
        Step(name="apply file:/b", begin=60.0, end=60.15),
    ),
)


def draw(*rows: Row, marks: tuple[Mark, ...] = ()) -> ElementTree.Element:
    return ElementTree.fromstring(render_timeline("A stock VM & its way", rows, marks))  # noqa: S314 our own


def texts(picture: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in picture.iter(f"{SVG}text")]


def bars(picture: ElementTree.Element) -> list[ElementTree.Element]:
    return [each for each in picture.iter(f"{SVG}rect") if each.find(f"{SVG}title") is not None]


def test_each_row_has_its_label_and_how_long_it_took() -> None:
    found = texts(draw(BOOT, MANY))
    for text in ("A stock VM & its way", "power-on to SSH", "30.0 s", "apply, 2 below 0.5 s", "0.4 s"):
        assert text in found
    assert "seconds" in found


def test_each_step_has_a_bar_as_long_as_it_took() -> None:
    first, second, third = bars(draw(BOOT, MANY))
    wide = [float(each.attrib["width"]) for each in (first, second)]
    assert wide[0] / wide[1] == pytest.approx(30.0 / 0.25, rel=0.05)
    assert float(first.attrib["y"]) < float(second.attrib["y"]) == float(third.attrib["y"])
    assert float(third.attrib["width"]) >= 1, "a short step must not vanish"
    title = second.find(f"{SVG}title")
    assert title is not None
    assert (title.text or "").startswith("apply file:/etc/<a>&b: 0.25 s, from 30.00 s on")


def test_the_moment_that_is_waited_for_stands_in_the_picture() -> None:
    assert "Ready 55.0 s" in texts(draw(BOOT, MANY, marks=(Mark(at=55.0, label="Ready"),)))


def test_nothing_is_loaded_and_nothing_lies_outside() -> None:
    late = Row(label="confirm", steps=(Step(name="confirm", begin=99.9, end=100.0),))
    drawing = render_timeline("title", [BOOT, late], [Mark(at=100.0, label="Ready")])
    assert not re.search(r"href|url\(|<image|<script", drawing)
    picture = ElementTree.fromstring(drawing)  # noqa: S314 our own
    for each in picture.iter(f"{SVG}rect"):
        assert float(each.attrib.get("x", 0)) + float(each.attrib["width"]) <= WIDTH


@pytest.mark.parametrize(
    ("until", "tick"), [(0.9, 0.1), (12.0, 1.0), (13.0, 2.0), (60.0, 5.0), (95.0, 10.0), (600.0, 50.0)]
)
def test_the_scale_has_round_numbers_that_do_not_run_into_each_other(until: float, tick: float) -> None:
    assert find_tick(until) == pytest.approx(tick)


def test_a_run_without_steps_is_an_empty_picture() -> None:
    assert bars(draw()) == []


def test_a_long_label_keeps_what_tells_it_from_others() -> None:
    label = "apply file:/etc/systemd/system/containerd.service.d/90-aks-flex-node-very-long.conf"
    short = shorten(label)
    assert len(short) == LABEL_LETTERS
    assert short.startswith("apply file:/etc/")
    assert short.endswith("very-long.conf")
