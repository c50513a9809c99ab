"""Working hours: their format, and which times fall within them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from accounts.working_hours import DAYS, EXAMPLE, is_working_time, validate_hours, validate_zone

DAY = 24 * 60  # minutes
WEEK = len(DAYS) * DAY
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")


def accepts(validate: Callable[[str], None], text: str) -> bool:
    try:
        validate(text)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Mon 09:00-17:00",
        "Sat-Sun 00:00-24:00",
        "Mon-Fri 09:00-24:00",
        "Mon-Sun 22:00-06:00",
        "Mon 18:00-00:00",
        EXAMPLE,
    ],
)
def test_hours_in_the_documented_form_are_valid(text: str) -> None:
    assert accepts(validate_hours, text)


@pytest.mark.parametrize(
    "text",
    [
        "9 to 5",
        "Mon 9:00-17:00",
        "Mon 09:00-25:00",
        "Mon 09:00-24:01",
        "Mon 24:00-06:00",
        "Mon 09:00-09:00",
        "Mon 00:00-00:00",
        "Fri-Mon 09:00-17:00",
        "Mon \u0660\u0669:00-17:00",
    ],
)
def test_hours_in_another_form_are_rejected(text: str) -> None:
    assert not accepts(validate_hours, text)


@pytest.mark.parametrize(("name", "valid"), [("UTC", True), ("Europe/Berlin", True), ("CE", False)])
def test_a_time_zone_must_be_known(name: str, valid: bool) -> None:
    assert accepts(validate_zone, name) is valid


@pytest.mark.parametrize(
    ("hours", "zone", "moment", "works"),
    [
        ("Mon-Fri 09:00-17:00", "UTC", "2026-11-20T09:00", True),  # a Friday
        ("Mon-Fri 09:00-17:00", "UTC", "2026-11-20T08:59", False),
        ("Mon-Fri 09:00-17:00", "UTC", "2026-11-20T16:59:59.999999", True),
        ("Mon-Fri 09:00-17:00", "UTC", "2026-11-20T17:00", False),
        ("Mon-Fri 09:00-17:00", "UTC", "2026-11-21T10:00", False),
        ("Mon-Fri 09:00-17:00", "Europe/Berlin", "2026-11-20T08:00", True),
        ("Mon-Fri 09:00-17:00", "Europe/Berlin", "2026-07-17T07:00", True),  # in summer
        # Until midnight
        ("Fri 09:00-24:00", "UTC", "2026-11-20T23:59:59.999999", True),
        ("Fri 09:00-24:00", "UTC", "2026-11-21T00:00", False),
        ("Fri 09:00-00:00", "UTC", "2026-11-20T23:59", True),
        ("Fri 09:00-00:00", "UTC", "2026-11-21T00:00", False),
        ("Fri 00:00-24:00", "UTC", "2026-11-20T00:00", True),
        ("Fri 00:00-24:00", "UTC", "2026-11-19T23:59", False),
        # Overnight hours begin on the named day and end on the next
        ("Fri 22:00-06:00", "UTC", "2026-11-20T05:59", False),
        ("Fri 22:00-06:00", "UTC", "2026-11-20T21:59", False),
        ("Fri 22:00-06:00", "UTC", "2026-11-20T22:00", True),
        ("Fri 22:00-06:00", "UTC", "2026-11-21T05:59", True),
        ("Fri 22:00-06:00", "UTC", "2026-11-21T06:00", False),
        ("Fri 22:00-06:00", "UTC", "2026-11-21T22:00", False),
        ("Sun 22:00-06:00", "UTC", "2026-11-23T05:59", True),  # a Monday
        ("Mon-Sun 22:00-06:00", "UTC", "2026-11-23T05:59", True),
        ("Mon-Sun 22:00-06:00", "UTC", "2026-11-23T06:00", False),
        # A night on which the clocks go forward, and a night on which they go back
        ("Sat 22:00-06:00", "Europe/Berlin", "2026-03-28T21:00", True),
        ("Sat 22:00-06:00", "Europe/Berlin", "2026-03-29T03:59", True),
        ("Sat 22:00-06:00", "Europe/Berlin", "2026-03-29T04:00", False),
        ("Sat 22:00-06:00", "Europe/Berlin", "2026-10-25T04:59", True),
        ("Sat 22:00-06:00", "Europe/Berlin", "2026-10-25T05:00", False),
        ("Sun 02:00-03:00", "Europe/Berlin", "2026-10-25T00:30", True),  # 02:30 in summer time
        ("Sun 02:00-03:00", "Europe/Berlin", "2026-10-25T01:30", True),  # 02:30 again
        ("Sun 02:00-03:00", "Europe/Berlin", "2026-03-29T00:59", False),
        ("Sun 02:00-03:00", "Europe/Berlin", "2026-03-29T01:00", False),  # 03:00; 02:30 is skipped
    ],
)
def test_a_time_is_compared_with_the_hours_in_their_time_zone(
    hours: str, zone: str, moment: str, works: bool
) -> None:
    asked = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    assert is_working_time(asked, hours, zone) is works
    assert is_working_time(asked, "", zone)


def clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


class Week:
    """Working hours as text, and the minutes of the week that fall within them."""

    def __init__(self, spans: list[tuple[int, int, int, int]]) -> None:
        parts, self.minutes = [], set[int]()
        for first, last, begin, end in spans:
            parts.append(f"{DAYS[first]}-{DAYS[last]} {clock(begin)}-{clock(end)}")
            for day in range(first, last + 1):
                minute = begin
                while minute not in (end, end + DAY):
                    self.minutes.add((day * DAY + minute) % WEEK)
                    minute += 1
        self.text = ", ".join(parts)

    def shows(self, moment: datetime, zone: str) -> bool:
        name, hour, minute = moment.astimezone(ZoneInfo(zone)).strftime("%a %H %M").split()
        return DAYS.index(name) * DAY + int(hour) * 60 + int(minute) in self.minutes


days = st.tuples(st.integers(0, 6), st.integers(0, 6)).map(sorted)
times = st.tuples(st.integers(0, DAY - 1), st.integers(0, DAY)).filter(
    lambda pair: pair[0] != pair[1]
)
weeks = st.lists(st.builds(lambda day, time: (*day, *time), days, times), min_size=1, max_size=3)
# Days on which the clocks change in one of ZONES, and arbitrary times
begins = st.one_of(
    st.sampled_from(
        ["2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25", "2026-11-01"]
    ).map(datetime.fromisoformat),
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),
)


@given(weeks.map(Week), st.sampled_from(ZONES), begins, st.integers(-DAY, DAY))
def test_working_hours_are_compared_with_the_minute_that_a_local_clock_shows(
    week: Week, zone: str, begin: datetime, shift: int
) -> None:
    begin = begin.replace(tzinfo=UTC) + timedelta(minutes=shift)
    for minute in range(0, DAY, 7):
        moment = begin + timedelta(minutes=minute)
        assert is_working_time(moment, week.text, zone) is week.shows(moment, zone), moment
