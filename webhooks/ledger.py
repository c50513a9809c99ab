"""Define the tables to check, and the rules that deliveries and their attempts must follow.

A row that breaks a rule is called a gap. A table is read in spans, which are ranges of its primary
key, so that every transaction is short. A table may have a `screen`: a single statement that checks
a span against all rules at once. The statements of the individual rules then run only if the screen
finds a row. The database compares the rows. This process fetches only the bounds of the spans and
the ids of the gaps.

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
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import BigIntegerField, Count, F, Max, Min, Q, QuerySet, Sum, Value
from django.db.models.expressions import Combinable, CombinedExpression
from django.db.models.functions import Cast

from webhooks.engine.queue import keep_to_indexes
from webhooks.models import Attempt, Delivery
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
    """A set of rules and the rows that they check, in spans of at most `size` rows.

    `screen` selects all rows that break a rule, and possibly a few others.
    """

    rows: "Callable[[], QuerySet[Any, Any]]"  # Any: rows of several tables
    size: int
    rules: tuple[Rule, ...]
    screen: "Callable[[Span], QuerySet[Any, Any]] | None" = None

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
# Individual attempts that contradict the columns of their delivery
ODD = Q(attempts__finished_at=None, attempts__isnull=False, claim=None) | COUNTED & (
    Q(attempts__number=F("attempts_count")) & ~Q(attempts__status=F("state"))
    | ~Q(attempts__number=F("attempts_count")) & Q(attempts__status=State.SUCCESS)
    | Q(attempts__number__gt=F("attempts_count"))
    | Q(attempts__status=State.SUCCESS, attempts__response_code=None)
    | Q(attempts__status=State.SUCCESS, attempts__response_code__lt=200)
    | Q(attempts__status=State.SUCCESS, attempts__response_code__gt=299)
)
# Deliveries with more attempts than this are always checked in full, because larger powers of two
# might not fit into 64 bits
MANY = 50


def _with_attempts(span: Span, **aggregates: Any) -> "QuerySet[Any, Any]":
    """Select the deliveries of a span, and annotate each with its number of counted attempts."""
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
    return Delivery.objects.filter(span.holds("pk"), MISTIMED).values("pk")


def _attempt_never_ended(span: Span) -> "QuerySet[Any, Any]":
    rows = Attempt.objects.filter(span.holds("delivery"), finished_at=None, delivery__claim=None)
    return rows.order_by().values("delivery").distinct()


def _suspicious(span: Span) -> "QuerySet[Any, Any]":
    """Find, with a single statement, all deliveries that may break a rule.

    If a delivery's n attempts are numbered from 1 to n, the sum of 2 ** number is 2 ** (n + 1) - 2,
    and no other n numbers have this sum. More than n numbers can have the same sum, so the number
    of attempts is checked as well.
    """
    numbers = Sum(_power_of_two(F("attempts__number")), filter=COUNTED, default=0)
    rows = _with_attempts(span, numbers=numbers, odd=Count("attempts", filter=ODD))
    expected = _power_of_two(F("attempts_count") + 1) - 2
    untried = Q(attempts_count=0) & ~Q(state=State.PENDING)
    many = Q(attempts_count__gt=MANY)
    miscounted = ~Q(counted=F("attempts_count"), numbers=expected)
    return rows.filter(miscounted | Q(odd__gt=0) | untried | many | MISTIMED)


def _power_of_two(exponent: Combinable) -> CombinedExpression:
    # The stubs allow only an int as the exponent.
    return Cast(Value(1), BigIntegerField()).bitleftshift(exponent)  # type: ignore[arg-type]


TABLES = (
    Table(
        Delivery.objects.all,
        5_000,
        (
            Rule(
                "attempts_missing",
                "a delivery has fewer attempts than its count says",
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
                "a delivery's state contradicts its last attempt, or an attempt followed a SUCCESS",
                _state_contradicts_attempts,
            ),
            Rule(
                "schedule_contradicts_state",
                "a delivery that must still be sent has no due time, a SUCCESS delivery has one, "
                "or a claim never expires",
                _schedule_contradicts_state,
            ),
            Rule(
                "attempt_never_ended",
                "an attempt is in flight although no worker has claimed its delivery",
                _attempt_never_ended,
            ),
        ),
        screen=_suspicious,
    ),
)
