"""Count each chatbot's activity: its messages, leads and deliveries.

The counts of past hours and days are stored. Hours that are not stored yet, such as the current
one, are counted each time they are shown. An id begins with the time at which its row was created,
so every count reads a range of ids.

An hour is first counted when it is over. Each run counts this hour again until a later hour has
been counted, to include rows that were committed late. After that, the hour is counted again only
if one of its rows is erased or one of its deliveries is attempted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import (
    Case,
    CharField,
    Count,
    F,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Lower, TruncMinute
from django.utils import timezone

from config.database.ids import first_id_of, time_of
from config.durations import ONE_DAY, ONE_HOUR
from conversations.models import Activity, Lead, Message
from conversations.models.activity import DAY, HOUR
from conversations.models.message import MessageType, SystemMessageType
from webhooks.models import Attempt, Delivery

HOURS_KEPT, DAYS_KEPT = timedelta(days=32), timedelta(days=400)
CLOCKS_DIFFER = timedelta(minutes=1)
# Maps each column that marks an hour for a recount to the columns that are recounted
MARKS = {"stale_at": Activity.CONVERSATIONS, "deliveries_stale_at": Activity.DELIVERIES}
Key = Any  # a chatbot's id, or a minute
Counts = dict[Key, Counter[str]]

PRESENT = Message.objects.filter(thread__erased_at=None)
BY_VISITOR = Q(system_message_type=SystemMessageType.CONVERSATION_ESCALATED, agent=None)
# Each row is counted under one of these names. `Range.count` then adds the fallbacks to the AI
# replies, and the AI replies to the messages.
NAME_OF_MESSAGE = Case(
    When(fallback_reason__isnull=False, then=Value("fallbacks")),
    When(message_type=MessageType.AI_MESSAGE, then=Value("ai_replies")),
    When(BY_VISITOR, then=Value("escalations")),
    When(message_type=MessageType.SYSTEM_MESSAGE, then=Value("")),
    default=Value("messages"),
    output_field=CharField(),
)
NAME_OF_LEAD = Value("leads", output_field=CharField())
NAME_OF_DELIVERY = Lower("state", output_field=CharField())


def hour_of(moment: datetime) -> datetime:
    """Return the beginning of the hour that contains a time."""
    return moment.replace(minute=0, second=0, microsecond=0)


def day_of(moment: datetime) -> datetime:
    """Return the beginning of the day (UTC) that contains a time."""
    return hour_of(moment).replace(hour=0)


def by_name(rows: "QuerySet[Any]", name: Any) -> "QuerySet[Any]":  # Any: an expression
    """Count the rows for each combination of key and name."""
    counted: QuerySet[Any] = rows.values("key", name=name).annotate(number=Count("pk"))
    return counted


class Range:
    """Counts rows created in a time range, by chatbot or by minute, for all or some chatbots."""

    def __init__(
        self, since: datetime, until: datetime, *, chatbots: list[UUID] | None, by_minute: bool
    ) -> None:
        self.ids = Q(pk__gte=first_id_of(since), pk__lt=first_id_of(until))
        self.chatbots, self.by_minute = chatbots, by_minute

    def rows(self, rows: "QuerySet[Any]", chatbot: str) -> "QuerySet[Any]":
        """Select the rows in the range, each with a `key`, which is its chatbot or its minute.

        `chatbot` is the lookup path from a row to its chatbot.
        """
        if self.chatbots is not None:
            rows = rows.filter(**{f"{chatbot}__in": self.chatbots})
        key = TruncMinute("created_at") if self.by_minute else F(chatbot)
        return rows.filter(self.ids).order_by().values(key=key)

    def messages(self) -> "QuerySet[Any]":
        """Count messages by key and name."""
        rows = self.rows(PRESENT, "thread__chatbot")
        return by_name(rows, NAME_OF_MESSAGE)

    def leads(self) -> "QuerySet[Any]":
        """Count leads by key."""
        rows = self.rows(Lead.objects.all(), "chatbot")
        return by_name(rows, NAME_OF_LEAD)

    def deliveries(self) -> "QuerySet[Any]":
        """Count deliveries by key and current state, excluding tests."""
        rows = self.rows(Delivery.objects.filter(is_test=False), "chatbot")
        return by_name(rows, NAME_OF_DELIVERY)

    def count(self, columns: tuple[str, ...]) -> Counts:
        """Compute the counts for the given columns of Activity. Runs at most two queries."""
        kinds: list[QuerySet[Any]] = []
        if Activity.CONVERSATIONS[0] in columns:
            kinds += [self.messages(), self.leads()]
        if Activity.DELIVERIES[0] in columns:
            kinds.append(self.deliveries())
        counts: Counts = {}
        for row in kinds[0].union(*kinds[1:], all=True):
            counts.setdefault(row["key"], Counter())[row["name"]] += row["number"]
        for numbers in counts.values():
            numbers["ai_replies"] += numbers["fallbacks"]
            numbers["messages"] += numbers["ai_replies"]
        if Activity.CONVERSATIONS[0] in columns:
            for key, answered_at, asked_at in self.first_answers():
                seconds = round((answered_at - asked_at).total_seconds())
                counts.setdefault(key, Counter()).update(answers=1, answer_seconds=max(0, seconds))
        return counts

    def first_answers(self) -> Iterable[tuple[Key, Any, Any]]:
        """Find the first agent answer after each escalation that a visitor requested.

        Returns a tuple for each answer: its key, its time and the time of the escalation.
        """
        earlier = Message.objects.filter(
            message_type__in=[MessageType.AGENT_MESSAGE, MessageType.SYSTEM_MESSAGE],
            thread=OuterRef("thread"),
            position__lt=OuterRef("position"),
        ).order_by("-position")
        escalation = Message.objects.filter(pk=OuterRef("before")).filter(BY_VISITOR)
        answers = PRESENT.filter(message_type=MessageType.AGENT_MESSAGE)
        found = self.rows(answers, "thread__chatbot").annotate(
            before=Subquery(earlier.values("pk")[:1]),
            asked_at=Subquery(escalation.values("created_at")),
        )
        answered = found.filter(asked_at__isnull=False)
        rows: Iterable[tuple[Key, Any, Any]] = answered.values_list("key", "created_at", "asked_at")
        return rows


def live(since: datetime, until: datetime, chatbots: list[UUID] | None) -> Counts:
    """Return the counts for each minute of a short range. Runs two queries."""
    found = Range(since, until, chatbots=chatbots, by_minute=True)
    return found.count(Activity.CONVERSATIONS + Activity.DELIVERIES)


def stored_until() -> datetime | None:
    """Return the end of the newest counted hour, or None if none has been counted."""
    newest = Activity.objects.filter(hours=HOUR).aggregate(Max("begins_at"))["begins_at__max"]
    return newest + ONE_HOUR if newest else None


def mark_stale(keys: Iterable[UUID]) -> None:
    """Mark the hours of erased rows for a recount. `keys` are the rows' ids."""
    hours = {hour_of(time_of(key)) for key in keys}
    Activity.objects.filter(hours=HOUR, begins_at__in=hours).update(stale_at=timezone.now())


def count(last_run: datetime) -> Iterator[None]:
    """Compute the counts of the hours that are new or have changed since the last run.

    Yields after each hour. Also deletes the counts that are too old to keep. A run can safely be
    stopped at any point, because the next run continues from there. New hours are counted first.
    Changed hours are marked at the beginning and recounted in the order in which they were marked,
    so each of them is recounted eventually.
    """
    now = timezone.now()
    Activity.objects.filter(hours=HOUR, begins_at__lt=day_of(now) - HOURS_KEPT).delete()
    Activity.objects.filter(hours=DAY, begins_at__lt=day_of(now) - DAYS_KEPT).delete()
    end = stored_until()
    mark_changed(last_run, newest=end - ONE_HOUR if end else None)
    begin = end or day_of(now) - HOURS_KEPT
    while (busy := busy_hour(begin)) and busy < hour_of(now):
        write(busy, Activity.CONVERSATIONS + Activity.DELIVERIES)
        yield
        begin = busy + ONE_HOUR
    for hour, columns in stale_hours():
        write(hour, columns)
        yield


def mark_changed(last_run: datetime, *, newest: datetime | None) -> None:
    """Mark the newest counted hour, and hours whose deliveries were attempted since the last run.

    An hour that is already marked keeps its earlier mark, so that its recount is not postponed.
    """
    now, counted = timezone.now(), Activity.objects.filter(hours=HOUR)
    last = {newest} if newest else set()
    counted.filter(begins_at__in=last, stale_at=None).update(stale_at=now)
    counted.filter(
        begins_at__in=last | changed_hours(last_run),
        begins_at__gte=logged_since(),
        deliveries_stale_at=None,
    ).update(deliveries_stale_at=now)


def stale_hours() -> list[tuple[datetime, tuple[str, ...]]]:
    """Return the marked hours, oldest mark first, each with the columns to recount."""
    found: dict[datetime, tuple[datetime, tuple[str, ...]]] = {}
    for mark, columns in MARKS.items():
        rows = Activity.objects.filter(hours=HOUR, **{f"{mark}__isnull": False})
        if columns == Activity.DELIVERIES:
            rows = rows.filter(begins_at__gte=logged_since())
        for hour, marked_at in rows.values_list("begins_at").annotate(Min(mark)):
            first, earlier = found.get(hour, (marked_at, ()))
            found[hour] = min(first, marked_at), earlier + columns
    in_order = sorted(found, key=lambda hour: (found[hour][0], hour))
    return [(hour, found[hour][1]) for hour in in_order]


def busy_hour(since: datetime) -> datetime | None:
    """Find the first hour since a given time that has a message, a lead or a delivery."""
    firsts = (
        model._default_manager.filter(pk__gte=first_id_of(since))
        .order_by("pk")
        .values_list("pk", flat=True)
        .first()
        for model in (Message, Lead, Delivery)
    )
    found = [key for key in firsts if key]
    return hour_of(time_of(min(found))) if found else None


def logged_since() -> datetime:
    """Return the first hour whose deliveries are all still in the log.

    The delivery counts of earlier hours no longer change.
    """
    kept = timezone.now() - timedelta(days=settings.WEBHOOK_RETENTION_DAYS)
    return hour_of(kept) + ONE_HOUR


def changed_hours(last_run: datetime) -> set[datetime]:
    """Return the hours whose deliveries have been attempted since the last run."""
    since = last_run - CLOCKS_DIFFER - timedelta(seconds=settings.WEBHOOK_TIMEOUT)
    attempted = Attempt.objects.filter(
        pk__gte=first_id_of(since), delivery__gte=first_id_of(logged_since())
    )
    keys = attempted.order_by().values_list("delivery", flat=True).distinct()
    return {hour_of(time_of(key)) for key in keys.iterator()}


def write(hour: datetime, columns: tuple[str, ...]) -> None:
    """Recompute the counts in the given columns for an hour and its day, for all chatbots.

    Then clears the marks for these columns, except marks committed after the recount began.
    """
    rows = Activity.objects.filter(hours=HOUR, begins_at=hour)
    # Marks are compared by value, not by age. A transaction that erases rows might set a mark
    # before the recount begins, but not commit it until after those rows have been counted.
    seen = list(rows.values(*MARKS).distinct())
    counts = Range(hour, hour + ONE_HOUR, chatbots=None, by_minute=False).count(columns)
    day = day_of(hour)
    with transaction.atomic():
        rows.update(**dict.fromkeys(columns, 0))
        _store(HOUR, hour, counts, columns)
        for mark, marked in MARKS.items():
            if marked[0] in columns:
                known = {row[mark] for row in seen} - {None}
                rows.filter(**{f"{mark}__in": known}).update(**{mark: None})
        whole = Activity.objects.filter(hours=HOUR, begins_at__gte=day, begins_at__lt=day + ONE_DAY)
        sums: Any = {f"sum_{name}": Sum(name) for name in columns}  # Any: dynamic names
        rows_of_day: Any = whole.values("chatbot").annotate(**sums)
        added = {
            row["chatbot"]: Counter({name: row[f"sum_{name}"] for name in columns})
            for row in rows_of_day
        }
        _store(DAY, day, added, columns)


def _store(hours: int, begins_at: datetime, counts: Counts, columns: tuple[str, ...]) -> None:
    """Insert or update the rows for one hour or day, in the caller's transaction."""
    Activity.objects.bulk_create(
        [
            Activity(
                chatbot_id=chatbot,
                hours=hours,
                begins_at=begins_at,
                **{name: numbers[name] for name in columns},
            )
            for chatbot, numbers in counts.items()
        ],
        update_conflicts=True,
        unique_fields=["chatbot", "hours", "begins_at"],
        update_fields=list(columns),
        batch_size=500,
    )
