"""Working hours, written as "Mon-Fri 09:00-17:00, Sat 22:00-06:00".

A period belongs to the days on which it starts. If the end time of a period is earlier than its
start time, the period ends on the next day. All times are in the account's time zone, so a period
during which the clocks change is an hour longer or shorter.
"""

import re
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from django.core.exceptions import ValidationError

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
EXAMPLE = "Mon-Fri 09:00-17:00, Sat 22:00-06:00"
DAY_NAME = f"({'|'.join(DAYS)})"
CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
SPAN = re.compile(rf"{DAY_NAME}(?:-{DAY_NAME})? ({CLOCK})-({CLOCK}|24:00)")


class Span(NamedTuple):
    """A period on one or more days of the week (0 is Monday). Times are minutes since midnight."""

    days: range
    begin: int
    end: int

    def contains(self, moment: datetime) -> bool:
        """Return whether a local time is in the period."""
        today, minute = moment.weekday(), 60 * moment.hour + moment.minute
        if self.begin < self.end:
            return today in self.days and self.begin <= minute < self.end
        yesterday = (today - 1) % len(DAYS)
        evening = today in self.days and minute >= self.begin
        return evening or (yesterday in self.days and minute < self.end)


def parse(text: str) -> list[Span]:
    """Parse working hours. Raises ValidationError."""
    spans = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = SPAN.fullmatch(part)
        if not found:
            raise ValidationError(f"working hours must look like {EXAMPLE}")
        first, last, *clocks = found.groups()
        begin, end = (60 * int(clock[:2]) + int(clock[3:]) for clock in clocks)
        days = range(DAYS.index(first), DAYS.index(last or first) + 1)
        if not days:
            raise ValidationError("the days of each part must be in order, from Mon to Sun")
        if begin == end:
            raise ValidationError("each part must start and end at different times")
        spans.append(Span(days, begin, end))
    return spans


def validate_hours(text: str) -> None:
    """Check the format of working hours. Raises ValidationError."""
    parse(text)


def validate_zone(name: str) -> None:
    """Check the name of a time zone. Raises ValidationError."""
    if name not in available_timezones():
        raise ValidationError("time zone must be a name such as Europe/Berlin")


def is_working_time(moment: datetime, hours: str, zone: str) -> bool:
    """Return whether a time is within working hours. Returns True if `hours` is empty."""
    spans = parse(hours)
    local = moment.astimezone(ZoneInfo(zone))
    return not spans or any(span.contains(local) for span in spans)
