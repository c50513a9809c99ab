"""Rows with too many related rows to delete in one transaction.

Erasing such a row hides it immediately. The worker deletes it and the rows that depend on it in
batches, once `purge_at` has passed.
"""

from typing import Any
from uuid import uuid4

from django.db import models
from django.utils import timezone

from config.database.row import Row, RowT


class PresentRows(models.Manager[RowT]):
    """Excludes erased rows. It is the default manager, so queries need not repeat the filter."""

    def get_queryset(self) -> "models.QuerySet[RowT]":
        """Leave out erased rows."""
        return super().get_queryset().filter(erased_at=None)


class ErasableRow(Row):
    """A row that is first hidden and later deleted.

    The manager `everything`, joins and cascades still find hidden rows.
    """

    erased_at = models.DateTimeField(null=True, editable=False)
    purge_at = models.DateTimeField(null=True, editable=False)

    everything: models.Manager[Any] = models.Manager()

    class Meta:
        abstract = True


def purge_index(name: str) -> models.Index:
    """Return an index that contains only erased rows."""
    return models.Index(fields=["purge_at"], name=name, condition=models.Q(purge_at__isnull=False))


def replacement() -> str:
    """Return a unique value for a column that an erasure must clear but that must stay unique.

    The value is random, because API callers can set the column and must not be able to guess it.
    """
    return f"erased {uuid4()}"


def erased() -> dict[str, Any]:
    """Return the column values that hide a row and make it due for deletion."""
    return {"erased_at": timezone.now(), "purge_at": timezone.now()}
