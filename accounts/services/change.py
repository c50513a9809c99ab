"""Record changes that no signal reports, and delete old audit trail entries in batches."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.contrib.contenttypes.models import ContentType
from django.db.models import Model

from accounts.models import Change
from config.database.locks import delete_unlocked
from config.database.prepared import insert
from config.runtime.context import current


def record(
    row: Model, name: str, *, account_id: UUID, changes: dict[str, list[str | None]]
) -> None:
    """Record a change under a given name, for rows whose own name contains a visitor's words."""
    insert(
        Change(
            content_type_id=ContentType.objects.get_for_model(row).pk,
            object_pk=str(row.pk),
            object_repr=name,
            account_id=account_id,
            action=Change.Action.UPDATE,
            changes=changes,
            cid=current.get().request_id,
        )
    )


def prune(before: datetime) -> Iterator[int]:
    """Delete entries for changes made before a given time, oldest first. Yields batch sizes."""
    old = Change.objects.filter(timestamp__lt=before)
    return delete_unlocked(old.order_by("timestamp", "id"))
