"""The base class of most models, and a function that saves only the given columns of a row."""

from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, TypeVar

from django.db import models, transaction

from config.database.ids import new_id
from config.database.prepared import update_columns
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


def save_changes(row: RowT, changes: Mapping[str, Any]) -> RowT:
    """Set the given attributes, and save only their columns and `updated_at`. Returns the row.

    If the row is audited and a value has changed, the audit trail records the change in the same
    transaction. Raises DatabaseError if the row no longer exists.
    """
    if not changes:
        return row
    old = copy(row) if is_audited(type(row)) else None
    for name, value in changes.items():
        setattr(row, name, value)
    with transaction.atomic(savepoint=False):
        update_columns(row, [*changes, "updated_at"])
        if old:
            record_update(old, row, changes)
    return row
