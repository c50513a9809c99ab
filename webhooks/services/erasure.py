"""Erase the content of deliveries. The log keeps their events, states, times and status codes.

An erased delivery is never sent again: if another attempt falls due, the delivery becomes FAILED
instead (open point: delivery-config). If an attempt is in progress, the content of its response is
not stored (see `schedule`).
"""

from collections.abc import Iterator

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from webhooks.models import Attempt, Delivery

BATCH = 500


def with_content(deliveries: "QuerySet[Delivery]") -> "QuerySet[Delivery]":
    """Select the deliveries whose content has not been erased."""
    return deliveries.exclude(body=b"")


def erase(deliveries: "QuerySet[Delivery]") -> Iterator[int]:
    """Erase the content of deliveries, oldest first. Yields the size of each batch.

    Each batch is one short transaction.
    """
    rows = with_content(deliveries).order_by("id")
    while True:
        with transaction.atomic():
            # Lock deliveries before attempts, as `schedule.settle` does, to avoid deadlocks.
            ids = list(rows.select_for_update().values_list("pk", flat=True)[:BATCH])
            Delivery.objects.filter(pk__in=ids).update(body=b"", updated_at=timezone.now())
            Attempt.objects.filter(delivery__in=ids).update(response_headers={}, response_body=b"")
        if not ids:
            return
        rows = rows.filter(pk__gt=ids[-1])
        yield len(ids)
