"""A source that crawls is left; one that pauses is not."""

from __future__ import annotations

import pytest

from flexnode.artifacts.rate import RateWatch, describe
from flexnode.clock import FakeClock
from flexnode.errors import ArtifactError


def feed(watch: RateWatch, clock: FakeClock, amounts: list[int]) -> None:
    for amount in amounts:
        clock.sleep(1)
        watch.feed(amount)


def test_a_byte_per_second_is_too_slow_after_one_window() -> None:
    clock = FakeClock()
    watch = RateWatch(clock, least=1000, window=20)
    feed(watch, clock, [1] * 19)
    with pytest.raises(ArtifactError, match="1 B/s over 20 s") as caught:
        feed(watch, clock, [1])
    assert caught.value.code == "artifact/too-slow"
    assert caught.value.transient


def test_a_pause_shorter_than_the_window_is_forgiven() -> None:
    clock = FakeClock()
    watch = RateWatch(clock, least=1000, window=20)
    feed(watch, clock, [50_000, *[0] * 15, 50_000, *[0] * 15, 50_000])


def test_a_good_beginning_does_not_excuse_a_crawl_later() -> None:
    clock = FakeClock()
    watch = RateWatch(clock, least=1000, window=20)
    feed(watch, clock, [10_000_000] * 5)
    with pytest.raises(ArtifactError):
        feed(watch, clock, [1] * 25)


def test_the_rate_is_that_of_the_last_window() -> None:
    clock = FakeClock()
    watch = RateWatch(clock, least=0, window=10)
    feed(watch, clock, [1_000_000] * 30 + [100] * 30)
    assert watch.rate() == pytest.approx(100, rel=0.2)


def test_people_read_amount_and_rate() -> None:
    assert describe(34_200_000, 58_000_000, 12_300_000) == "34.2 MB of 58.0 MB, 12.3 MB/s"
    assert describe(900, None, 0) == "900 B"
