"""Delete old rows of the audit trail, in batches."""

from collections.abc import Iterator
from datetime import datetime

from accounts.models import Change

BATCH = 1_000


def prune(before: datetime) -> Iterator[int]:
    """Delete the changes from before a time, the oldest first. Yields the size of each batch."""
    old = Change.objects.filter(timestamp__lt=before).order_by("timestamp", "id")
    while ids := list(old.values_list("pk", flat=True)[:BATCH]):
        Change.objects.filter(pk__in=ids).delete()
        yield len(ids)
