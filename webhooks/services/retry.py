"""Retry FAILED deliveries by requesting one more attempt for each.

Specification: Events, Delivery rules, 3.
"""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count, islice

from django.db import transaction
from django.db.models import QuerySet

from webhooks.engine import queue, schedule
from webhooks.models import Delivery
from webhooks.models.delivery import State
from webhooks.services.erasure import with_content

PER_SECOND = 10  # retries per second per endpoint; low because receivers may still be recovering
BATCH = 100  # deliveries per transaction; low because SQLite transactions block other writes


def retryable_alone(deliveries: "QuerySet[Delivery]") -> "QuerySet[Delivery]":
    """Select the FAILED deliveries that are not scheduled, not in flight and not erased."""
    return with_content(deliveries.filter(state=State.FAILED, due_at=None, claim=None))


def erased(deliveries: "QuerySet[Delivery]") -> "QuerySet[Delivery]":
    """Select the FAILED deliveries that cannot be retried because their content was erased."""
    return deliveries.filter(state=State.FAILED, body=b"")


def retryable(deliveries: "QuerySet[Delivery]") -> "QuerySet[Delivery]":
    """Select the deliveries that can be retried in bulk. Test dispatches are excluded."""
    return retryable_alone(deliveries).filter(is_test=False)


def retry(deliveries: "QuerySet[Delivery]", by: str) -> int:
    """Request one attempt, due now, for each retryable delivery. Returns how many were requested.

    `by` names the requester.
    """
    return schedule.retry(list(retryable_alone(deliveries).values_list("pk", flat=True)), by=by)


def retry_slowly(deliveries: "QuerySet[Delivery]", by: str) -> Iterator[int]:
    """Request an attempt for each retryable delivery, and spread the attempts over time.

    Each endpoint's attempts fall due in the order of the events, at a rate of PER_SECOND.
    Deliveries that fail once this has started are not included. Yields the number of attempts
    requested in each batch. If the caller stops early, the remaining deliveries are unchanged.
    """
    rows = retryable(deliveries).order_by("chatbot", "id").values_list("chatbot", "pk")
    asked = iter(list(rows))
    place, begins, last = count(), queue.now(), None
    while batch := list(islice(asked, BATCH)):
        made = 0
        with transaction.atomic():
            for chatbot, delivery in batch:
                if chatbot != last:
                    place, begins, last = count(), queue.now(), chatbot
                due = begins + timedelta(seconds=next(place) / PER_SECOND)
                made += schedule.retry([delivery], by=by, due_at=due)
        yield made
