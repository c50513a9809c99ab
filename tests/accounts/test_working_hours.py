"""Working hours: their format, and which times fall within them."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError

from accounts.working_hours import EXAMPLE, is_working_time, validate_hours, validate_zone


def accepts(validate: Callable[[str], None], text: str) -> bool:
    try:
        validate(text)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        *((text, True) for text in ("", EXAMPLE, "Mon 09:00-17:00", "Sat-Sun 00:00-24:00")),
        *((text, True) for text in ("Mon-Sun 22:00-06:00", "Mon 18:00-00:00")),
        *((text, False) for text in ("9 to 5", "Mon 9:00-17:00", "Fri-Mon 09:00-17:00")),
        *((f"Mon {text}", False) for text in ("09:00-25:00", "09:00-24:01", "24:00-06:00")),
        *(
            (f"Mon {text}", False)
            for text in ("09:00-09:00", "00:00-00:00", "\u0660\u0669:00-17:00")
        ),
    ],
)
def test_hours_have_the_documented_form(text: str, valid: bool) -> None:
    assert accepts(validate_hours, text) is valid


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
