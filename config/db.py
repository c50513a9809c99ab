"""What every model stands on: its identifier, its two times, and saving a change to it."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar
from uuid import UUID

import uuid_utils.compat
from django.db import connection, models
from django.utils import timezone

SHORT = 255  # characters of a string without a documented bound
LONG = 65_535  # characters of a long text without a documented bound


def new_id() -> UUID:
    """Make a version 7 uuid: new rows sit together at the end of their index."""
    return uuid_utils.compat.uuid7()


class Row(models.Model):
    """A row with a uuid and the times of its making and its last change."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    ORDINARY: ClassVar = frozenset({"id", "created_at", "updated_at"})


RowT = TypeVar("RowT", bound=models.Model)


class PresentRows(models.Manager[RowT]):
    """The rows that were not erased: the default, so that no query can forget the rest."""

    def get_queryset(self) -> "models.QuerySet[RowT]":
        """Leave out erased rows."""
        return super().get_queryset().filter(erased_at=None)


class ErasableRow(Row):
    """A row with too much below it for one transaction.

    Erasing it hides it at once; the worker deletes it afterwards, piece by piece, when `purge_at`
    has come. Only `everything` and cascades see erased rows.
    """

    erased_at = models.DateTimeField(null=True, editable=False)
    purge_at = models.DateTimeField(null=True, editable=False)

    everything: models.Manager[Any] = models.Manager()

    class Meta:
        abstract = True


def purge_index(name: str) -> models.Index:
    """Make the index that holds nothing but erased rows."""
    return models.Index(fields=["purge_at"], name=name, condition=models.Q(purge_at__isnull=False))


def erased() -> dict[str, Any]:
    """Make the values that hide a row and tell the worker to delete it."""
    return {"erased_at": timezone.now(), "purge_at": timezone.now()}


def save_changes(row: RowT, changes: Mapping[str, Any]) -> RowT:
    """Set the given attributes and save only their columns. Returns the row."""
    for name, value in changes.items():
        setattr(row, name, value)
    if changes:
        row.save(update_fields=[*changes, "updated_at"])
    return row


def release_connection() -> None:
    """Give the thread's connection back before waiting for a network peer.

    Inside a transaction it stays: there, nobody may wait.
    """
    if not connection.in_atomic_block:
        connection.close()
