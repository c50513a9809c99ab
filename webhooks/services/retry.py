"""Request one more attempt for FAILED deliveries. Specification: Events, Delivery rules, 3."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count, islice

from django.db import transaction
from django.db.models import QuerySet

from webhooks.engine import queue, schedule
from webhooks.models import Delivery
from webhooks.models.delivery import State
from webhooks.services.erasure import with_content

PER_SECOND = 10  # retries per second for each endpoint, whose receiver may still be recovering
BATCH = 100  # deliveries per transaction; few, because on SQLite a transaction blocks other writes


def retryable_alone(deliveries: "QuerySet[Delivery]") -> "QuerySet[Delivery]":
    """Select the FAILED deliveries that can be retried: not due, not in flight and not erased."""
    return with_content(deliveries.filter(state=State.FAILED, due_at=None, claim=None))


def erased(deliveries: "QuerySet[Delivery]") -> "QuerySet[Delivery]":
    """Select the FAILED deliveries that can no longer be retried: their content was erased."""
    return deliveries.filter(state=State.FAILED, body=b"")


def retryable(deliveries: "QuerySet[Delivery]") -> "QuerySet[Delivery]":
    """Select the deliveries that can be retried in bulk; test dispatches are retried one by one."""
    return retryable_alone(deliveries).filter(is_test=False)


def retry(deliveries: "QuerySet[Delivery]", by: str) -> int:
    """Request one attempt for each retryable delivery, due now. Returns how many were requested.

    `by` names the requester.
    """
    return schedule.retry(list(retryable_alone(deliveries).values_list("pk", flat=True)), by=by)


def retry_slowly(deliveries: "QuerySet[Delivery]", by: str) -> Iterator[int]:
    """Request an attempt for each retryable delivery, and spread the attempts over time.

    Each endpoint's attempts fall due in the order of the events, PER_SECOND a second. Deliveries
    that fail after the start are not included. Yields the number of attempts requested in each
    batch. If the caller stops early, the remaining deliveries are unchanged.
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
