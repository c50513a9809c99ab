"""Durations in words."""

from datetime import timedelta

import pytest

from config.durations import ONE_DAY, ONE_HOUR, ONE_MINUTE, in_words, until

MOMENT = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(), "under 1 min"),
        (ONE_MINUTE - MOMENT, "under 1 min"),
        (ONE_MINUTE, "1 min"),
        (ONE_HOUR - MOMENT, "59 min"),
        (ONE_HOUR, "1 h"),
        (ONE_DAY - MOMENT, "23 h"),
        (ONE_DAY, "1 day"),
        (2 * ONE_DAY - MOMENT, "1 day"),
        (2 * ONE_DAY, "2 days"),
        (400 * ONE_DAY, "400 days"),
    ],
)
def test_a_span_is_formatted_in_its_largest_unit(span: timedelta, words: str) -> None:
    assert in_words(span) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3, "now"),
        (0.4, "now"),
        (0.6, "in 1 s"),
        (59.4, "in 59 s"),
        (59.6, "in 1 min"),
        (3_600, "in 1 h"),
        (86_400, "in 1 day"),
        (200_000, "in 2 days"),
    ],
)
def test_the_time_until_an_event_is_formatted_in_its_largest_unit(
    seconds: float, words: str
) -> None:
    assert until(seconds) == words
