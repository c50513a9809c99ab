"""Check messages, events, deliveries and attempts against each other, and count the gaps by kind.

Together, these rows are the ledger. A gap is a row that is missing or contradicts other rows, such
as a message without a delivery.

A delivery is required only for messages whose event was provably due. That is, the account has
webhooks enabled, the endpoint is active and subscribed, and neither has changed since shortly
before the message was stored. Other messages are not checked: earlier configurations are not kept,
so it is unknown whether the events of these messages were due.

Messages older than the delivery log are not checked either. The log is assumed to begin with the
oldest delivery that finished within a day of its creation. The assumed beginning is never later
than one day ago, and never earlier than one retention period ago. The messages and counts of erased
conversations and chatbots are not checked. A delivery may outlive its message only if the content
of the delivery was erased.

Apart from these exceptions, the rules compare rows that change in the same transaction, so they
hold at any moment.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from config.database.connections import release_connection
from conversations.models import Draft, LedgerCheck, Message, OwedReply, Thread, ThreadCount
from conversations.models.message import MessageType
from conversations.services.reactions import COUNTERS
from webhooks import ledger as webhooks
from webhooks.ledger import FIRST, Rule, Span, Table
from webhooks.models import Delivery
from webhooks.payloads import Event

# Messages newer than this are skipped, because clocks differ and transactions take time.
GRACE = timedelta(minutes=5)
LEAST_LOG = timedelta(days=1)  # the delivery log always covers at least this period
SHOWN = 5  # maximum number of ids listed for each kind of gap

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Gaps:
    """The number of gaps of one kind, and the ids of the first few."""

    rule: Rule
    count: int = 0
    ids: list[UUID] = field(default_factory=list)

    def add(self, found: set[UUID]) -> None:
        """Count gaps, and keep the ids of the first SHOWN of them."""
        self.count += len(found)
        self.ids += sorted(found)[: SHOWN - len(self.ids)]


def log_begins() -> datetime:
    """Return the time from which the delivery log is complete.

    Pruning keeps due deliveries, so an old delivery does not prove that the log goes back that far.
    A delivery that finished within LEAST_LOG of its creation does prove it, because pruning would
    have deleted this delivery if the log began later.
    """
    now = timezone.now() + GRACE  # includes a margin, because pruning may be running
    finished = Delivery.objects.filter(due_at=None, updated_at__lt=F("created_at") + LEAST_LOG)
    oldest = finished.order_by("created_at", "id").values_list("created_at", flat=True)
    begins = min(oldest.first() or now, now - LEAST_LOG)
    return max(begins, now - timedelta(days=settings.WEBHOOK_RETENTION_DAYS))


# The functions below use `Any` because they return the ids of different models.
def _message_without_delivery(span: Span) -> "QuerySet[Any, Any]":
    stored = Message.objects.filter(
        span.holds("thread"),
        created_at__gte=log_begins(),
        created_at__lt=timezone.now() - span.grace,
    ).exclude(message_type=MessageType.SYSTEM_MESSAGE)
    reported = Delivery.objects.filter(span.holds("thread_id"), message_id__isnull=False)
    missing = stored.order_by().values("pk").difference(reported.order_by().values("message_id"))
    # The remaining conditions are checked only for these few messages.
    endpoint, account = "thread__chatbot__endpoint", "thread__chatbot__account"
    return Message.objects.filter(
        pk__in=missing,
        thread__erased_at=None,
        thread__chatbot__erased_at=None,
        created_at__gt=F(f"{endpoint}__updated_at") + Value(span.grace),
        thread__chatbot__account__updated_at__lt=F("created_at") - Value(span.grace),
        **{
            f"{endpoint}__is_active": True,
            f"{endpoint}__events__icontains": Event.NEW_MESSAGE.value,
            f"{account}__webhooks_enabled": True,
        },
    ).values("pk")


def _delivery_without_message(span: Span) -> "QuerySet[Any, Any]":
    message = Message.objects.filter(
        pk=OuterRef("message_id"),
        thread=OuterRef("thread_id"),
    )
    rows = Delivery.objects.filter(span.holds("pk"), ~Exists(message), message_id__isnull=False)
    return rows.exclude(body=b"").values("pk")


def _message_delivered_twice(span: Span) -> "QuerySet[Any, Any]":
    rows = Delivery.objects.filter(span.holds("thread_id"), message_id__isnull=False, is_test=False)
    twice = rows.order_by().values("message_id").annotate(deliveries=Count("pk"))
    return twice.filter(deliveries__gt=1).values("message_id")


def _thread_counts(span: Span) -> "QuerySet[Any, Any]":
    of_visitor = Count("messages", filter=Q(messages__message_type=MessageType.USER_MESSAGE))
    reactions = {
        f"real_{column}": Count("messages", filter=Q(messages__reaction__iexact=reaction))
        for reaction, column in COUNTERS.items()
    }
    rows = Thread.objects.filter(span.holds("pk"), chatbot__erased_at=None).order_by().values("pk")
    rows = rows.annotate(
        stored=Count("messages"),
        last=Coalesce(Max("messages__position"), 0),
        of_visitor=of_visitor,
        **reactions,
    )
    right = Q(stored=F("last_position"), last=F("last_position"))
    right &= Q(of_visitor=F("visitor_messages_count"))
    for column in COUNTERS.values():
        right &= Q(**{f"real_{column}": F(column)})
    return rows.filter(~right).values("pk")


def _chatbot_thread_count(span: Span) -> "QuerySet[Any, Any]":
    rows = ThreadCount.objects.filter(span.holds("pk"), chatbot__erased_at=None).values("pk")
    present = Count("chatbot__threads", filter=Q(chatbot__threads__erased_at=None))
    return rows.annotate(present=present).exclude(present=F("threads")).values("pk")


def _reply_owed_twice(span: Span) -> "QuerySet[Any, Any]":
    reply = Message.objects.filter(
        parent_message=OuterRef("pk"), message_type=MessageType.AI_MESSAGE
    )
    draft = Draft.objects.filter(message=OuterRef("pk"))
    rows = OwedReply.objects.filter(span.holds("pk"))
    return rows.filter(Exists(reply) | Exists(draft)).values("pk")


TABLES = (
    Table(
        Thread.objects.all,
        250,
        (
            Rule(
                "message_without_delivery",
                "a message that should have caused an event has no delivery",
                _message_without_delivery,
            ),
            Rule(
                "message_delivered_twice",
                "a message has more than one delivery",
                _message_delivered_twice,
            ),
            Rule(
                "thread_counts",
                "a thread's positions or counters do not match its messages",
                _thread_counts,
            ),
        ),
    ),
    Table(
        Delivery.objects.all,
        5_000,
        (
            Rule(
                "delivery_without_message",
                "a delivery with content refers to a message that is not in its thread",
                _delivery_without_message,
            ),
        ),
    ),
    Table(
        ThreadCount.objects.all,
        50,
        (
            Rule(
                "chatbot_thread_count",
                "a chatbot's stored thread count is wrong",
                _chatbot_thread_count,
            ),
        ),
    ),
    Table(
        OwedReply.objects.all,
        1_000,
        (
            Rule(
                "reply_owed_twice",
                "a reply is still marked as owed, although the reply or a draft is already stored",
                _reply_owed_twice,
            ),
        ),
    ),
    *webhooks.TABLES,
)
RULES = tuple(rule for table in TABLES for rule in table.rules)


def check(
    found: dict[str, Gaps], *, grace: timedelta = GRACE, table: int = 0, after: UUID = FIRST
) -> Iterator[tuple[int, UUID]]:
    """Check all tables, and count the gaps by rule in `found`. Call this outside any transaction.

    Each table is read in spans, which are ranges of its primary key. After each span, yields the
    table's number and the id of the last row checked. To resume from there, pass these values as
    `table` and `after`.
    """
    for rule in RULES:
        found.setdefault(rule.name, Gaps(rule))
    for number, each in enumerate(TABLES[table:], start=table):
        for span in each.spans(grace, after):
            with webhooks.reading():
                for rule in each.rules:
                    found[rule.name].add(_find(rule, span))
            yield number, span.upto
        after = FIRST


def resume(must_stop: Callable[[], bool]) -> bool:
    """Continue the daily check until it is complete or must stop. Returns whether it is complete.

    After each span, releases the connection and pauses for as long as the span took, so that the
    check uses at most half of one CPU.
    """
    row, _ = LedgerCheck.objects.get_or_create()
    found = {rule.name: Gaps(rule, row.found.get(rule.name, 0)) for rule in RULES}
    pause, began = threading.Event(), time.monotonic()
    for place in check(found, table=row.table, after=row.after):
        row.table, row.after = place
        release_connection()
        pause.wait(time.monotonic() - began)
        began = time.monotonic()
        if must_stop():
            row.found = {name: gaps.count for name, gaps in found.items()}
            row.save()
            return False
    row.found = {name: gaps.count for name, gaps in found.items()}
    row.finish()
    if broken := ", ".join(f"{name}: {count}" for name, count in row.gaps.items() if count):
        logger.error("the ledger has gaps (%s): run verify_ledger for details", broken)
    return True


def spans() -> int:
    """Return the approximate number of spans, for a progress bar."""
    return sum(-(-table.rows().count() // table.size) for table in TABLES)


def _find(rule: Rule, span: Span) -> set[UUID]:
    """Read a span and, if there are gaps, read it again. Returns the gaps found both times.

    A single reading can find false gaps, because pruning can delete rows between its statements.
    """
    ids = _read(rule, span)
    return ids & _read(rule, span) if ids else ids


def _read(rule: Rule, span: Span) -> set[UUID]:
    return {next(iter(row.values())) for row in rule.gaps(span)}
