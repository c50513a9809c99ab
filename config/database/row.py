"""The base class of most models, and functions that save only the given columns of a row."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from copy import copy
from typing import Any, ClassVar, TypeVar

from django.db import DatabaseError, connection, models, transaction

from config.database.ids import new_id
from config.database.prepared import HAS_CHANGED, together, update_columns
from config.database.trail import is_audited, record_update


class Row(models.Model):
    """A row with a uuid, its creation time and the time of its last change."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    ORDINARY: ClassVar = frozenset({"id", "created_at", "updated_at"})


RowT = TypeVar("RowT", bound=models.Model)


def save_changes(row: RowT, changes: Mapping[str, Any], unchanged: Iterable[str] = ()) -> RowT:
    """Set the given attributes, and save only their columns and `updated_at`. Returns the row.

    If the row is audited and a value has changed, the audit trail records the change in the same
    transaction. Raises DatabaseError if the row no longer exists, or if the database holds a
    different value than `row` in one of the `unchanged` columns.
    """
    if not changes:
        return row
    differs = any(getattr(row, name) != value for name, value in changes.items())
    old = copy(row) if differs and is_audited(type(row)) else None
    compared = {name: getattr(row, name) for name in unchanged}
    for name, value in changes.items():
        setattr(row, name, value)
    with transaction.atomic(savepoint=False) if old else nullcontext(), together():
        update_columns(row, [*changes, "updated_at"], compared)
        if old:
            record_update(old, row, changes)
    return row


def save_unlocked(row: models.Model, changes: Mapping[str, Any], columns: Iterable[str]) -> bool:
    """Save changes to a row that was read without a lock, unless the row has changed since.

    Returns whether the changes were saved. If not, the caller must read the row again. Only
    `columns`, which must not be nullable, are compared with the values that were read.

    Concurrent changes to one row wait only for each other's statements. With a lock, they would
    also wait for everything that other callers do between reading and writing the row.
    """
    try:
        # The savepoint keeps the caller's transaction usable after an error.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            save_changes(row, changes, unchanged=columns)
    except DatabaseError as error:
        if f"{row.pk} {HAS_CHANGED}" not in str(error):
            raise
        return False
    return True
