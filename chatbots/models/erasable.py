"""A base model for rows that have too many related rows to delete in one transaction.

Erasing such a row hides it immediately. Once `purge_at` has passed, a worker deletes the row and
its dependent rows in batches.
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

    Hidden rows are still found by the manager `everything`, and by joins and cascades.
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
    """Return a random value that replaces a unique column's value when a row is erased.

    API callers cannot guess the value, so they cannot use it in another row.
    """
    return f"erased {uuid4()}"


def erased() -> dict[str, Any]:
    """Return the column values that hide a row and make it due for deletion."""
    return {"erased_at": timezone.now(), "purge_at": timezone.now()}
