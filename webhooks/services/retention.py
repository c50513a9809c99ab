"""Delete old, finished deliveries in batches.

Once a day, `webhooks.tasks.prune` deletes deliveries that are older than WEBHOOK_RETENTION_DAYS.
`accounts.tasks` deletes old rows of other kinds, such as sessions, emails and the audit trail.
"""

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from config.database.locks import unlocked_keys
from webhooks.models import Attempt, Delivery
from webhooks.models.delivery import State

BATCH = 1_000


def prunable(before: datetime) -> "QuerySet[Delivery]":
    """Select finished deliveries created before a time.

    Excludes deliveries for which a retry is scheduled or in progress.
    """
    return Delivery.objects.filter(
        created_at__lt=before,
        state__in=[State.SUCCESS, State.FAILED],
        due_at=None,
        claim=None,
    )


def prune(before: datetime) -> Iterator[int]:
    """Delete prunable deliveries and their attempts. Yields the size of each batch.

    Each batch is one transaction.
    """
    while True:
        with transaction.atomic():
            ids = unlocked_keys(prunable(before).order_by("created_at", "id")[:BATCH])
            Attempt.objects.filter(delivery__in=ids).delete()
            Delivery.objects.filter(pk__in=ids).delete()
        if not ids:
            return
        yield len(ids)
