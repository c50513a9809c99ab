"""The home page's figures for a time span, limited to the chatbots that the user may see.

The counts for past hours are read from Activity. Hours that Activity does not contain yet, and the
five-minute slots of the last hour, are counted live. The cost does not depend on the total number
of messages or deliveries.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, Sum

from config.durations import ONE_DAY, ONE_HOUR, in_words
from conversations.models import Activity
from conversations.models.activity import DAY, HOUR
from conversations.services import activity
from conversations.services.activity import day_of, hour_of

# Live counts reach back at most this far before the current hour. If the workers fall further
# behind with storing counts, the hours in between are missing from the figures.
LIVE_MOST = 3 * ONE_HOUR
CLOCK = timedelta(seconds=1)  # added to the current time to include rows from the current second
NAMES = Activity.CONVERSATIONS + Activity.DELIVERIES
FIVE_MINUTES = timedelta(minutes=5)
GRAY = "#808896"  # color of a chart's text; readable in light and dark mode


def slot_of(moment: datetime) -> datetime:
    """Return the beginning of the five-minute slot that contains a time."""
    return moment.replace(minute=moment.minute // 5 * 5, second=0, microsecond=0)


@dataclass(frozen=True)
class Span:
    """A time span that ends now, divided into the buckets that the charts show."""

    name: str
    label: str
    length: timedelta
    step: timedelta
    floor: Callable[[datetime], datetime]  # returns the start of the bucket that contains a time
    form: str  # how a bucket's time is formatted

    def since(self, now: datetime) -> datetime:
        """Return the start of the span, which is the start of its first bucket."""
        return self.floor(now) - self.length + self.step


SPANS = {
    span.name: span
    for span in (
        Span("1h", "last hour", ONE_HOUR, FIVE_MINUTES, slot_of, "%H:%M"),
        Span("24h", "24 h", ONE_DAY, ONE_HOUR, hour_of, "%H:%M"),
        Span("7d", "7 days", 7 * ONE_DAY, ONE_DAY, day_of, "%b %d"),
        Span("30d", "30 days", 30 * ONE_DAY, ONE_DAY, day_of, "%b %d"),
    )
}
DEFAULT_SPAN = "24h"


@dataclass(frozen=True)
class Figures:
    """The counts for each bucket of a span, oldest bucket first."""

    span: Span
    since: datetime
    buckets: dict[datetime, Counter[str]]

    @property
    def total(self) -> Counter[str]:
        """Add up the buckets."""
        return sum(self.buckets.values(), Counter())

    @property
    def fallback_share(self) -> int:
        """Return the percentage of AI replies that are fallbacks."""
        return round(100 * self.total["fallbacks"] / (self.total["ai_replies"] or 1))

    @property
    def answer_time(self) -> str:
        """Return the mean time from an escalation to the first human answer, in words."""
        total = self.total
        if not total["answers"]:
            return "no answer yet"
        mean = timedelta(seconds=total["answer_seconds"]) / total["answers"]
        return f"first answer after {in_words(mean)}"

    def table(self, names: Sequence[str]) -> list[tuple[str, list[int]]]:
        """Return the rows of a table: each bucket's time and counts."""
        return [
            (f"{begins:{self.span.form}}", [counts[name] for name in names])
            for begins, counts in self.buckets.items()
        ]


def read(span: Span, now: datetime, chatbots: list[UUID] | None) -> Figures:
    """Read the figures for the given chatbots (None means all). Runs at most three queries."""
    since = span.since(now)
    rows = {} if span.floor is slot_of else stored(span, since, now, chatbots)
    counted = [begins for hours, begins in rows if hours == HOUR]
    newest = hour_of(now) - LIVE_MOST  # the earliest hour that may be counted live
    live_since = max(since, newest, *(begins + ONE_HOUR for begins in counted))
    buckets: dict[datetime, Counter[str]] = {}
    begins = since
    while begins <= now:
        buckets[begins] = Counter()
        begins += span.step
    last_day = day_of(live_since)
    for (hours, begins), counts in rows.items():
        of_day = span.step == ONE_DAY and begins < last_day
        if hours == (DAY if of_day else HOUR) and begins < live_since:
            buckets[span.floor(begins)].update(counts)
    for minute, counts in activity.live(live_since, now + CLOCK, chatbots).items():
        buckets[max(since, span.floor(min(minute, now)))].update(counts)
    return Figures(span, since, buckets)


def stored(
    span: Span, since: datetime, now: datetime, chatbots: list[UUID] | None
) -> dict[tuple[int, datetime], Counter[str]]:
    """Read the stored hourly counts and, if each bucket is a day, the stored daily counts.

    Each key is a tuple of the period's length in hours and the period's start.
    """
    rows: Any = Activity.objects.filter(hours=HOUR, begins_at__gte=since)
    if span.step == ONE_DAY:
        hours = Q(hours=HOUR, begins_at__gte=day_of(hour_of(now) - LIVE_MOST))
        rows = Activity.objects.filter(hours | Q(hours=DAY, begins_at__gte=since))
    if chatbots is not None:
        rows = rows.filter(chatbot__in=chatbots)
    sums = {f"sum_{name}": Sum(name) for name in NAMES}
    return {
        (row["hours"], row["begins_at"]): Counter({name: row[f"sum_{name}"] for name in NAMES})
        for row in rows.order_by().values("hours", "begins_at").annotate(**sums)
    }


@dataclass(frozen=True)
class Series:
    """An entry in a chart's legend: its column, label and color."""

    name: str
    label: str
    color: str


@dataclass(frozen=True)
class Chart:
    """A bar chart, with the same figures in a table."""

    title: str
    figures: Figures
    series: tuple[Series, ...]
    stacked: bool = False

    @property
    def sentence(self) -> str:
        """Describe the chart in words, for people who cannot see it."""
        total = self.figures.total
        parts = ", ".join(f"{one.label} {total[one.name]:,}" for one in self.series)
        title = f"{self.title}, {self.figures.span.label}"
        return f"{title}: {parts}. The table below has the same figures."

    @property
    def head(self) -> list[str]:
        """Return the headings of the table's columns."""
        return [one.label for one in self.series]

    @property
    def rows(self) -> list[tuple[str, list[int]]]:
        """Return the rows of the table."""
        return self.figures.table([one.name for one in self.series])

    @property
    def value(self) -> str:
        """Return the data for the admin's chart script, as JSON."""
        rows = self.rows
        sets = [
            {
                "label": one.label,
                "data": [counts[number] for _, counts in rows],
                "backgroundColor": one.color,
            }
            for number, one in enumerate(self.series)
        ]
        return json.dumps({"labels": [label for label, _ in rows], "datasets": sets})

    @property
    def options(self) -> str:
        """Return the options for the admin's chart script, as JSON."""
        axis = {"stacked": self.stacked, "ticks": {"color": GRAY, "precision": 0}}
        title = {"display": True, "text": "Time (UTC)", "color": GRAY}
        return json.dumps(
            {
                "animation": False,
                "maintainAspectRatio": False,
                "scales": {
                    "x": axis | {"grid": {"display": False}, "title": title},
                    "y": axis | {"beginAtZero": True, "grid": {"tickWidth": 0}},
                },
                "plugins": {"legend": {"position": "bottom", "labels": {"color": GRAY}}},
            }
        )


MESSAGES = (
    Series("messages", "Messages", "#9333ea"),
    Series("ai_replies", "AI replies", "#0891b2"),
    Series("fallbacks", "Fallbacks", "#ea580c"),
    Series("escalations", "Escalations", "#ca8a04"),
    Series("leads", "Leads", "#16a34a"),
)
DELIVERIES = (
    Series("success", "Success", "#16a34a"),
    Series("retrying", "Retrying", "#ca8a04"),
    Series("pending", "Pending", "#64748b"),
    Series("failed", "Failed", "#dc2626"),
)
