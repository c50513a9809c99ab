"""Check messages, events, deliveries and attempts against each other, and name every gap.

What can be proved: a message's event was due if its endpoint and account have not changed since
before the message, and the endpoint is on and subscribed. Older configurations are not stored, so
older messages are not judged. Neither are messages older than the delivery log, which begins with
its oldest delivery, though never less than a day ago. Erased conversations and chatbots are not
judged; erased deliveries may outlive their messages, but their content may not.

Every other rule compares rows that change in the same transaction, so it holds at any moment.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from conversations.models import Draft, Message, OwedReply, Thread, ThreadCount
from conversations.models.message import MessageType
from conversations.services.reactions import COUNTERS
from webhooks import ledger as webhooks
from webhooks.ledger import Rule, Span, Table
from webhooks.models import Delivery
from webhooks.payloads import Event

GRACE = timedelta(minutes=5)  # clocks differ, and transactions last
LEAST_LOG = timedelta(days=1)  # the log is never pruned to less
SHOWN = 5  # ids of each kind


@dataclass(slots=True)
class Gaps:
    """The gaps of one kind: how many, and the ids of the first few."""

    rule: Rule
    count: int = 0
    ids: list[UUID] = field(default_factory=list)

    def add(self, found: set[UUID]) -> None:
        """Count these gaps."""
        self.count += len(found)
        self.ids += sorted(found)[: SHOWN - len(self.ids)]


def log_begins() -> datetime:
    """Return the time since which no delivery can have been pruned."""
    now = timezone.now() + GRACE  # pruning may be running
    oldest = Delivery.objects.order_by("created_at", "id").values_list("created_at", flat=True)
    begins = min(oldest.first() or now, now - LEAST_LOG)
    return max(begins, now - timedelta(days=settings.WEBHOOK_RETENTION_DAYS))


# Any, below: rows as their ids
def _message_without_delivery(span: Span) -> "QuerySet[Any, Any]":
    endpoint, account = "thread__chatbot__endpoint", "thread__chatbot__account"
    due = Message.objects.filter(
        span.holds("thread"),
        thread__erased_at=None,
        thread__chatbot__erased_at=None,
        created_at__gte=log_begins(),
        created_at__lt=timezone.now() - span.grace,
        created_at__gt=F(f"{endpoint}__updated_at"),
        **{
            f"{endpoint}__is_active": True,
            f"{endpoint}__events__icontains": Event.NEW_MESSAGE.value,
            f"{account}__webhooks_enabled": True,
        },
    ).exclude(message_type=MessageType.SYSTEM_MESSAGE)
    reported = Delivery.objects.filter(span.holds("thread_id"), message_id__isnull=False)
    missing = due.order_by().values("pk").difference(reported.order_by().values("message_id"))
    # Only for the few that are left: SQLite adds times slowly.
    return Message.objects.filter(
        pk__in=missing,
        created_at__gt=F(f"{endpoint}__updated_at") + Value(span.grace),
        thread__chatbot__account__updated_at__lt=F("created_at") - Value(span.grace),
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
                "a message whose event was due has no delivery",
                _message_without_delivery,
            ),
            Rule(
                "message_delivered_twice",
                "a message has more than one delivery",
                _message_delivered_twice,
            ),
            Rule(
                "thread_counts",
                "a thread's positions or counters are not those of its messages",
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
                "a delivery's message is not in its thread, and its content was not erased",
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
                "a chatbot's stored number of threads is wrong",
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
                "a reply is still owed although it or its draft is stored",
                _reply_owed_twice,
            ),
        ),
    ),
    *webhooks.TABLES,
)
RULES = tuple(rule for table in TABLES for rule in table.rules)


def check(found: dict[str, Gaps], *, grace: timedelta = GRACE) -> Iterator[None]:
    """Add all gaps to `found`, by kind; yields after each span. Call it outside any transaction."""
    found.update({rule.name: Gaps(rule) for rule in RULES})
    for table in TABLES:
        for span in table.spans(grace):
            for rule in table.rules:
                found[rule.name].add(_find(rule, span))
            yield


def spans() -> int:
    """Return about how many spans there are, for a progress bar."""
    return sum(-(-table.rows().count() // table.size) for table in TABLES)


def _find(rule: Rule, span: Span) -> set[UUID]:
    """Return the gaps that two readings of a span agree on.

    Pruning may delete rows between the statements of one reading.
    """
    ids = _read(rule, span)
    return ids & _read(rule, span) if ids else ids


def _read(rule: Rule, span: Span) -> set[UUID]:
    return {next(iter(row.values())) for row in rule.gaps(span)}
