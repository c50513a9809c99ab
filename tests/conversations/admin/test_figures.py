"""The charts on the home page, and the time spans that they show."""

from datetime import datetime, timedelta

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.durations import ONE_DAY, ONE_HOUR


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
