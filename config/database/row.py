"""The base class of most models, and a function that saves only the given columns of a row."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from copy import copy
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from django.db import DatabaseError, connection, models, transaction

from config.database.ids import new_id
from config.database.prepared import together, update_columns
from config.database.trail import is_audited, record_update


class Row(models.Model):
    """A row with a uuid and the times of its creation and its last change."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    ORDINARY: ClassVar = frozenset({"id", "created_at", "updated_at"})


RowT = TypeVar("RowT", bound=models.Model)


def save_changes(
    row: RowT, changes: Mapping[str, Any], where: Mapping[str, Any] = MappingProxyType({})
) -> RowT:
    """Set the given attributes and save only their columns. Returns the row.

    If the row is audited and a value differs, the audit trail records the change in the same
    transaction. Raises DatabaseError if the stored row does not match the lookups in `where`.
    """
    if not changes:
        return row
    differs = any(getattr(row, name) != value for name, value in changes.items())
    old = copy(row) if differs and is_audited(type(row)) else None
    for name, value in changes.items():
        setattr(row, name, value)
    columns = [*changes, "updated_at"]
    if not (old or connection.in_atomic_block):
        update_columns(row, columns, where)  # one statement, which commits immediately
        return row
    with transaction.atomic(savepoint=False) if old else nullcontext(), together():
        update_columns(row, columns, where)
        if old:
            record_update(old, row, changes)
    return row


def save_unlocked(row: models.Model, changes: Mapping[str, Any], columns: Iterable[str]) -> bool:
    """Save changes to a row that was read without a lock, if no other writer has changed it since.

    Returns whether the row is saved. If not, `row` is out of date, and the caller has to read it
    again. The row counts as unchanged if the given columns, which must not be nullable, have kept
    their values.

    Concurrent changes to one row wait only for each other's statement. With a lock, they would also
    wait for everything that happens in this process between reading and writing.
    """
    where = {name: getattr(row, name) for name in columns}
    try:
        # A savepoint keeps the caller's transaction usable.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            save_changes(row, changes, where)
    except DatabaseError as error:
        if "no longer matches" not in str(error):
            raise
        return False
    return True
