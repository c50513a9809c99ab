"""Check deliveries against their attempts: the rules, and how a table is read for them.

A table is walked in spans of its primary key. Each rule reads a span with one statement of its
own, so no transaction lasts long and memory does not grow with the table. Each write of the engine
is one transaction (`engine.schedule`, `engine.recovery`), so these rules hold at any moment, also
for deliveries in flight and erased ones; pruning deletes a delivery with its attempts. The retry
delays may have changed since a delivery ended, so it is not judged whether the number of attempts
was sufficient: the status of the last attempt tells whether another one follows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Max, Min, Q, QuerySet

from webhooks.models import Attempt, Delivery
from webhooks.models.delivery import State

FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Span:
    """A range of primary keys to check; what changed within `grace` is left out."""

    after: UUID
    upto: UUID
    grace: timedelta

    def holds(self, column: str) -> Q:
        """Select the rows whose column lies in the span."""
        return Q(**{f"{column}__gt": self.after, f"{column}__lte": self.upto})


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, the gap that it finds in words, and the ids of gaps in a span."""

    name: str
    sentence: str
    gaps: "Callable[[Span], QuerySet[Any, Any]]"  # Any: rows of several tables, as their ids


@dataclass(frozen=True, slots=True)
class Table:
    """The rows that some rules walk, and how many of them make a span."""

    rows: "Callable[[], QuerySet[Any, Any]]"  # Any: rows of several tables
    size: int
    rules: tuple[Rule, ...]

    def spans(self, grace: timedelta) -> Iterator[Span]:
        """Yield the spans of the table, in the order of the primary key."""
        after = FIRST
        while True:
            rows = self.rows().filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)
            keys = list(rows[: self.size])
            if not keys:
                return
            yield Span(after, keys[-1], grace)
            after = keys[-1]


# An attempt counts once it has ended. One that was interrupted is made again under its number,
# unless the interruption ended the delivery.
COUNTED = Q(attempts__finished_at__isnull=False) & (
    Q(attempts__interrupted=False) | Q(attempts__status=State.FAILED)
)
ACCEPTED = COUNTED & Q(
    attempts__status=State.SUCCESS,
    attempts__response_code__gte=200,
    attempts__response_code__lt=300,
)
LAST = COUNTED & Q(attempts__number=F("attempts_count"))


def _with_attempts(span: Span, **aggregates: Any) -> "QuerySet[Any, Any]":
    """Group the deliveries of a span with the number of their counted attempts."""
    counted = Count("attempts", filter=COUNTED)
    rows = Delivery.objects.filter(span.holds("pk")).order_by().values("pk")
    return rows.annotate(counted=counted, **aggregates)


def _attempts_missing(span: Span) -> "QuerySet[Any, Any]":
    return _with_attempts(span).filter(counted__lt=F("attempts_count"))


def _attempts_misnumbered(span: Span) -> "QuerySet[Any, Any]":
    rows = _with_attempts(
        span,
        first=Min("attempts__number", filter=COUNTED),
        last=Max("attempts__number", filter=COUNTED),
        numbers=Count("attempts__number", filter=COUNTED, distinct=True),
    )
    uneven = ~Q(first=1) | ~Q(last=F("counted")) | ~Q(numbers=F("counted"))
    more = Q(counted__gt=F("attempts_count"))
    return rows.filter(more | Q(counted=F("attempts_count"), counted__gt=0) & uneven)


def _success_not_accepted(span: Span) -> "QuerySet[Any, Any]":
    rows = _with_attempts(span, accepted=Count("attempts", filter=ACCEPTED))
    return rows.filter(state=State.SUCCESS, counted=F("attempts_count"), accepted=0)


def _state_contradicts_attempts(span: Span) -> "QuerySet[Any, Any]":
    rows = _with_attempts(
        span,
        agreeing=Count("attempts", filter=LAST & Q(attempts__status=F("state"))),
        before_last=Count(
            "attempts",
            filter=COUNTED
            & Q(attempts__status=State.SUCCESS, attempts__number__lt=F("attempts_count")),
        ),
        last=Max("attempts__number", filter=COUNTED),
        accepted=Count("attempts", filter=ACCEPTED),
    )
    rows = rows.filter(counted=F("attempts_count")).exclude(state=State.SUCCESS, accepted=0)
    never = Q(counted=0) & ~Q(state=State.PENDING)
    return rows.filter(
        never | Q(counted__gt=0, last=F("counted"), agreeing=0) | Q(before_last__gt=0)
    )


def _schedule_contradicts_state(span: Span) -> "QuerySet[Any, Any]":
    never_sent = Q(state__in=[State.PENDING, State.RETRYING], due_at=None)
    sent_again = Q(state=State.SUCCESS, due_at__isnull=False)
    claimed = Q(claim__isnull=False) & (Q(due_at=None) | Q(claimed_until=None))
    return Delivery.objects.filter(span.holds("pk"), never_sent | sent_again | claimed).values("pk")


def _attempt_never_ended(span: Span) -> "QuerySet[Any, Any]":
    rows = Attempt.objects.filter(span.holds("delivery"), finished_at=None, delivery__claim=None)
    return rows.order_by().values("delivery").distinct()


TABLES = (
    Table(
        Delivery.objects.all,
        5_000,
        (
            Rule(
                "attempts_missing",
                "a delivery counts more attempts than it has",
                _attempts_missing,
            ),
            Rule(
                "attempts_misnumbered",
                "a delivery's attempts are not numbered from 1 to their count",
                _attempts_misnumbered,
            ),
            Rule(
                "success_not_accepted",
                "a SUCCESS delivery has no attempt with a 2xx response",
                _success_not_accepted,
            ),
            Rule(
                "state_contradicts_attempts",
                "a delivery's state is not that of its last attempt, or a SUCCESS was followed",
                _state_contradicts_attempts,
            ),
            Rule(
                "schedule_contradicts_state",
                "a delivery that is not finished is never due, or one that is finished is due",
                _schedule_contradicts_state,
            ),
            Rule(
                "attempt_never_ended",
                "an attempt is in flight although no worker holds its delivery",
                _attempt_never_ended,
            ),
        ),
    ),
)
