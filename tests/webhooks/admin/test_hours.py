"""A webhook's page shows a bar for each hour, and a table with the same counts."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.template.loader import render_to_string

from webhooks.admin.hours import HEIGHT, Bars, Hour

FIRST = datetime(2026, 3, 1, 8, tzinfo=UTC)


def bars(*counts: tuple[int, int]) -> Bars:
    hours = timedelta(hours=1)
    return Bars([Hour(FIRST + hours * n, ok, failed) for n, (ok, failed) in enumerate(counts)])


@pytest.mark.parametrize("counts", [(1_000_000, 1), (1, 1_000_000), (500, 500), (3, 0), (1, 1)])
def test_a_part_with_any_delivery_is_visible_and_the_busiest_hour_fits(
    counts: tuple[int, int],
) -> None:
    [_, busiest] = bars((0, 0), counts).columns
    assert (busiest.ok > 0, busiest.failed > 0) == (counts[0] > 0, counts[1] > 0)
    assert 0 <= busiest.failed_top <= busiest.ok_top <= HEIGHT
    assert busiest.failed_top <= 2


def test_hours_without_deliveries_have_no_height() -> None:
    quiet = bars(*[(0, 0)] * 24)
    assert {(bar.ok, bar.failed) for bar in quiet.columns} == {(0, 0)}
    assert quiet.width == 240


def test_the_table_has_the_figures_of_the_bars() -> None:
    html = render_to_string("admin/webhooks/bars.html", {"bars": bars((41, 0), (7, 2))})
    assert re.findall(r"<td>(\d+)</td><td>(\d+)</td>", html) == [("41", "0"), ("7", "2")]
    assert "<title>09:00 UTC: 7 ok, 2 failed</title>" in html
    assert 'aria-label="Deliveries per hour: 48 ok, 2 failed. The table lists each hour."' in html
    assert "at most 41" in html
    assert "style=" not in html
