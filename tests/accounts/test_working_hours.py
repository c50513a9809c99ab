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


OFFICE, BERLIN = "Mon-Fri 09:00-17:00", "Europe/Berlin"
NIGHT, WEEK = "Fri 22:00-06:00", "Mon-Sun 22:00-06:00"
FRIDAY, SATURDAY, SUNDAY, MONDAY = (f"2026-11-{day}T" for day in (20, 21, 22, 23))
FORWARD, BACK = "2026-03-29T", "2026-10-25T"  # Sundays on which the clocks in Berlin change


@pytest.mark.parametrize(
    ("hours", "zone", "inside", "outside"),
    [
        (OFFICE, "UTC", [f"{FRIDAY}09:00", f"{FRIDAY}16:59:59.999999"], [f"{FRIDAY}08:59"]),
        (OFFICE, "UTC", [], [f"{FRIDAY}17:00", f"{SATURDAY}10:00"]),
        (OFFICE, BERLIN, [f"{FRIDAY}08:00", "2026-07-17T07:00"], []),  # in winter and in summer
        *(
            (f"Fri 09:00-{midnight}", "UTC", [f"{FRIDAY}23:59:59.999999"], [f"{SATURDAY}00:00"])
            for midnight in ("24:00", "00:00")
        ),
        ("Fri 00:00-24:00", "UTC", [f"{FRIDAY}00:00"], ["2026-11-19T23:59"]),
        # Overnight hours begin on the named day and end on the next
        (NIGHT, "UTC", [f"{FRIDAY}22:00", f"{SATURDAY}05:59"], [f"{FRIDAY}05:59"]),
        (NIGHT, "UTC", [], [f"{FRIDAY}21:59", f"{SATURDAY}06:00", f"{SATURDAY}22:00"]),
        (WEEK, "UTC", [f"{SUNDAY}22:00", f"{MONDAY}05:59"], [f"{MONDAY}06:00"]),
        ("Sat 22:00-06:00", BERLIN, ["2026-03-28T21:00", f"{FORWARD}03:59"], [f"{FORWARD}04:00"]),
        ("Sat 22:00-06:00", BERLIN, [f"{BACK}04:59"], [f"{BACK}05:00"]),
        # 02:30 comes twice when the clocks go back, and is skipped when they go forward
        ("Sun 02:00-03:00", BERLIN, [f"{BACK}00:30", f"{BACK}01:30"], []),
        ("Sun 02:00-03:00", BERLIN, [], [f"{FORWARD}00:59", f"{FORWARD}01:00"]),
    ],
)
def test_a_time_is_compared_with_the_hours_in_their_time_zone(
    hours: str, zone: str, inside: list[str], outside: list[str]
) -> None:
    for works, moments in ((True, inside), (False, outside)):
        for moment in moments:
            asked = datetime.fromisoformat(moment).replace(tzinfo=UTC)
            assert is_working_time(asked, hours, zone) is works, moment
            assert is_working_time(asked, "", zone)
