"""Durations in words."""

from datetime import timedelta

import pytest

from config.durations import ONE_DAY, ONE_HOUR, ONE_MINUTE, in_words

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
