"""The charts on the home page, and the time spans that they show."""

import json
from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.durations import ONE_DAY, ONE_HOUR
from conversations.admin.figures import SPANS


@pytest.mark.parametrize("span", SPANS)
def test_the_time_axis_of_a_chart_names_its_time_zone(client: Client, span: str) -> None:
    charts = client.get(reverse("admin:index"), {"span": span}).context["charts"]
    assert len(charts) == 2
    for chart in charts:
        assert json.loads(chart.options)["scales"]["x"]["title"]["text"] == "Time (UTC)"


def test_each_span_is_at_most_one_bar_shorter_than_its_name_says(client: Client) -> None:
    for span, most, bar in (
        ("1h", ONE_HOUR, timedelta(minutes=5)),
        ("24h", ONE_DAY, ONE_HOUR),
        ("7d", 7 * ONE_DAY, ONE_DAY),
        ("30d", 30 * ONE_DAY, ONE_DAY),
    ):
        page = client.get(reverse("admin:index"), {"span": span})
        since: datetime = page.context["figures"].since
        assert most - bar <= timezone.now() - since <= most + timedelta(minutes=1)
