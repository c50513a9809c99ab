"""Delete old audit trail entries in batches."""

from collections.abc import Iterator
from datetime import datetime

from accounts.models import Change
from config.database.locks import delete_unlocked


def prune(before: datetime) -> Iterator[int]:
    """Delete entries for changes made before a given time, oldest first. Yields batch sizes."""
    old = Change.objects.filter(timestamp__lt=before)
    return delete_unlocked(old.order_by("timestamp", "id"))
