"""Record and count the outcomes of visitors' requests for a human agent.

Except for `outcomes`, call these functions in a transaction that has locked the thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Avg, Count, DurationField, ExpressionWrapper, F
from django.utils import timezone

from config.database.prepared import insert
from conversations.models import Handoff, Thread

COMES_BACK = timedelta(days=7)
COUNTED = 10_000  # maximum number of requests to count, so that the cost is bounded


@dataclass(frozen=True)
class Outcomes:
    """Requests for a human agent since a given time, and their outcomes."""

    asked: int  # at most COUNTED
    answered: int
    first_answer: timedelta | None  # the mean time until an agent first answered
    resolved: int
    came_back: int


def asked(thread: Thread) -> None:
    """Record a visitor's request for a human agent."""
    insert(Handoff(thread=thread, chatbot_id=thread.chatbot_id))


def answered(thread: Thread) -> None:
    """Record an agent's first answer to the newest request.

    Older unanswered requests are left as they are, because the thread returned to the AI before
    an agent answered them.
    """
    newest = thread.handoffs.order_by("-asked_at", "-pk").values("pk")[:1]
    thread.handoffs.filter(pk__in=newest, answered_at=None).update(answered_at=timezone.now())


def resolved(thread: Thread) -> None:
    """Record that the thread's unresolved requests are now resolved."""
    thread.handoffs.filter(resolved_at=None).update(resolved_at=timezone.now())


def came_back(thread: Thread) -> None:
    """Record that the visitor wrote again within 7 days after a request was resolved."""
    lately = thread.handoffs.filter(resolved_at__gte=timezone.now() - COMES_BACK)
    lately.filter(came_back_at=None).update(came_back_at=timezone.now())


def outcomes(since: datetime, chatbots: Sequence[UUID] | None) -> Outcomes:
    """Count the outcomes of the newest requests since a given time. Runs one query.

    `chatbots` are the ids of the chatbots to count, or None for all.
    """
    rows = Handoff.objects.filter(asked_at__gte=since)
    if chatbots is not None:
        rows = rows.filter(chatbot__in=chatbots)
    waited = ExpressionWrapper(F("answered_at") - F("asked_at"), output_field=DurationField())
    found = rows.order_by("-asked_at")[:COUNTED].aggregate(
        asked=Count("pk"),
        answered=Count("answered_at"),
        first_answer=Avg(waited),
        resolved=Count("resolved_at"),
        came_back=Count("came_back_at"),
    )
    return Outcomes(**found)
