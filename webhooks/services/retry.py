"""Retry by hand what has FAILED. Specification: Events, Delivery rules, 3."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count, islice

from django.db import transaction
from django.db.models import QuerySet

from webhooks.engine import queue, schedule
from webhooks.engine.erasure import with_content
from webhooks.models import Delivery
from webhooks.models.delivery import State

PER_SECOND = 10  # of one endpoint, when many are retried: its receiver has just been down
BATCH = 100  # one transaction; on the embedded default nobody else writes meanwhile


def retryable_alone(deliveries: "QuerySet[Delivery]") -> "QuerySet[Delivery]":
    """Keep those that may be retried: FAILED, not asked for already, and not erased."""
    return with_content(deliveries.filter(state=State.FAILED, due_at=None, claim=None))


def erased(deliveries: "QuerySet[Delivery]") -> "QuerySet[Delivery]":
    """Keep those that FAILED and cannot be retried any more, because their content was erased."""
    return deliveries.filter(state=State.FAILED, body=b"")


def retryable(deliveries: "QuerySet[Delivery]") -> "QuerySet[Delivery]":
    """Keep those that many at once may be: made-up values are sent again one by one alone."""
    return retryable_alone(deliveries).filter(is_test=False)


def retry(deliveries: "QuerySet[Delivery]", by: str) -> int:
    """Make one attempt of each now; returns of how many. `by` says who asked."""
    return schedule.retry(list(retryable_alone(deliveries).values_list("pk", flat=True)), by=by)


def retry_slowly(deliveries: "QuerySet[Delivery]", by: str) -> Iterator[int]:
    """Make one attempt of each, in the order of the events, spread over time by endpoint.

    What fails from now on is not touched. Yields how many it is made for, batch by batch;
    whoever stops in the middle leaves the rest as it was.
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
