"""The fast JSON renderer writes values as `json` does, and truncates times to milliseconds."""

import json
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from config.api.strict_json import dumps

ZONES = [UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=9, minutes=30))]
MOMENTS = [
    datetime(2026, 1, 2, 3, 4, 5, microsecond, zone)
    for zone in ZONES
    for microsecond in (0, 1, 999, 1_000, 1_999, 500_000, 999_499, 999_999)
] + [
    datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
    datetime(2024, 2, 29, 23, 59, 59, 999_999, ZONES[1]),
    datetime(1000, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
]


def written_out(moment: datetime) -> str:
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
def test_a_time_is_truncated_to_milliseconds_in_utc(moment: datetime) -> None:
    assert dumps(moment) == f'"{written_out(moment)}"'.encode()


def test_awkward_values_are_written_as_python_writes_them() -> None:
    key = UUID("019aa000-0000-7000-8000-00000000000a")
    plain = ["", 'a"b\\c/', "é € 😀 \u2028 \x7f", -1, 2**53, 2**64, 1e-7, 1.5, None, True, [], {}]
    expected = json.dumps({"k": plain, "ä": str(key)}, ensure_ascii=False)
    assert json.loads(dumps({"k": plain, "ä": key})) == json.loads(expected)
