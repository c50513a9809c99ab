"""Define the tables to check, and the rules that deliveries and their attempts must follow.

A row that breaks a rule is called a gap. A table is read in spans, which are ranges of its primary
key, so that every transaction is short. The database compares the rows. This process fetches only
the bounds of the spans and the ids of the gaps.

The engine makes each change in one transaction (see `engine.schedule` and `engine.recovery`), so
these rules hold at all times, even for deliveries that are in flight or erased. Pruning deletes a
delivery together with its attempts. No rule compares the number of attempts with the number of
retry delays, because the delays may have been changed after the attempts. Instead, the rules rely
on the status of the last attempt, which shows whether another attempt must follow.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, F, Max, Min, Q, QuerySet

from webhooks.engine.queue import keep_to_indexes
from webhooks.models import Delivery
from webhooks.models.delivery import State

FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Span:
    """A range of primary keys. Rules that compare times skip rows younger than `grace`."""

    after: UUID
    upto: UUID
    grace: timedelta

    def holds(self, column: str) -> Q:
        """Return a condition for rows whose value in a column lies in the span."""
        return Q(**{f"{column}__gt": self.after, f"{column}__lte": self.upto})


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, a description of the gaps that it finds, and a query for them."""

    name: str
    sentence: str
    gaps: "Callable[[Span], QuerySet[Any, Any]]"  # Any: ids from various tables


@dataclass(frozen=True, slots=True)
class Table:
    """A set of rules and the rows that they check, in spans of at most `size` rows."""

    rows: "Callable[[], QuerySet[Any, Any]]"  # Any: rows of several tables
    size: int
    rules: tuple[Rule, ...]

    def spans(self, grace: timedelta, after: UUID = FIRST) -> Iterator[Span]:
        """Yield the table's spans in order, starting after the primary key `after`."""
        while True:
            rows = self.rows().filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)
            upto = next(iter(rows[self.size - 1 : self.size]), None) or rows.last()
            if upto is None:
                return
            yield Span(after, upto, grace)
            after = upto


@contextmanager
def reading() -> Iterator[None]:
    """Make PostgreSQL use indexes to read a span. Otherwise, it may read the whole table.

    On PostgreSQL, the block is a transaction in which each statement sees everything committed
    before that statement began. On SQLite, there is no transaction, because it would block other
    writers.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic():
        keep_to_indexes()
        yield


# Finished attempts are counted, except for interrupted ones, which are repeated under the same
# number. An interruption that made the delivery FAILED is counted, because it is not repeated.
COUNTED = Q(attempts__finished_at__isnull=False) & (
    Q(attempts__interrupted=False) | Q(attempts__status=State.FAILED)
)
ACCEPTED = COUNTED & Q(
    attempts__status=State.SUCCESS,
    attempts__response_code__gte=200,
    attempts__response_code__lt=300,
)
LAST = COUNTED & Q(attempts__number=F("attempts_count"))
NEVER_SENT = Q(state__in=[State.PENDING, State.RETRYING], due_at=None)
SENT_AGAIN = Q(state=State.SUCCESS, due_at__isnull=False)
CLAIMED = Q(claim__isnull=False) & (Q(due_at=None) | Q(claimed_until=None))
MISTIMED = NEVER_SENT | SENT_AGAIN | CLAIMED
# What each rule on a delivery's attempts finds, in terms of the counts of `_with_attempts`
COMPLETE = Q(counted=F("attempts_count"))
MISSING = Q(counted__lt=F("attempts_count"))
UNEVEN = ~Q(first=1) | ~Q(last=F("counted")) | ~Q(numbers=F("counted"))
MISNUMBERED = Q(counted__gt=F("attempts_count")) | COMPLETE & Q(counted__gt=0) & UNEVEN
NOT_ACCEPTED = COMPLETE & Q(state=State.SUCCESS, accepted=0)
CONTRADICTED = (
    COMPLETE
    & ~Q(state=State.SUCCESS, accepted=0)
    & (
        Q(counted=0) & ~Q(state=State.PENDING)
        | Q(counted__gt=0, last=F("counted"), agreeing=0)
        | Q(before_last__gt=0)
    )
)
NEVER_ENDED = Q(claim=None, open__gt=0)


def _with_attempts(span: Span, gaps: Q) -> "QuerySet[Any, Any]":
    """Select the deliveries of a span that have a gap, by counts of their attempts."""
    success = Q(attempts__status=State.SUCCESS)
    counts = (
        Delivery.objects.filter(span.holds("pk"))
        .order_by()
        .values("pk")
        .annotate(
            counted=Count("attempts", filter=COUNTED),
            first=Min("attempts__number", filter=COUNTED),
            last=Max("attempts__number", filter=COUNTED),
            numbers=Count("attempts__number", filter=COUNTED, distinct=True),
            accepted=Count("attempts", filter=ACCEPTED),
            agreeing=Count("attempts", filter=LAST & Q(attempts__status=F("state"))),
            before_last=Count(
                "attempts", filter=COUNTED & success & Q(attempts__number__lt=F("attempts_count"))
            ),
            open=Count("attempts", filter=Q(attempts__finished_at=None)),
        )
    )
    return counts.filter(gaps).values("pk")


def _mistimed(span: Span) -> "QuerySet[Any, Any]":
    return Delivery.objects.filter(span.holds("pk"), MISTIMED).values("pk")


def _of_attempts(gaps: Q) -> "Callable[[Span], QuerySet[Any, Any]]":
    return partial(_with_attempts, gaps=gaps)


TABLES = (
    Table(
        Delivery.objects.all,
        5_000,
        (
            Rule(
                "attempts_missing",
                "a delivery has fewer attempts than its count says",
                _of_attempts(MISSING),
            ),
            Rule(
                "attempts_misnumbered",
                "a delivery's attempts are not numbered from 1 to their count",
                _of_attempts(MISNUMBERED),
            ),
            Rule(
                "success_not_accepted",
                "a SUCCESS delivery has no attempt with a 2xx response",
                _of_attempts(NOT_ACCEPTED),
            ),
            Rule(
                "state_contradicts_attempts",
                "a delivery's state contradicts its last attempt, or an attempt followed a SUCCESS",
                _of_attempts(CONTRADICTED),
            ),
            Rule(
                "schedule_contradicts_state",
                "a delivery that must still be sent has no due time, a SUCCESS delivery has one, "
                "or a claim never expires",
                _mistimed,
            ),
            Rule(
                "attempt_never_ended",
                "an attempt is in flight although no worker has claimed its delivery",
                _of_attempts(NEVER_ENDED),
            ),
        ),
    ),
)
