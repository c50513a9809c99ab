"""The base class of most models, with an id and two times, and a function to save changes."""

from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, TypeVar

from django.db import models, transaction

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


def save_changes(row: RowT, changes: Mapping[str, Any]) -> RowT:
    """Set the given attributes and save only their columns. Returns the row.

    If the row is audited, the change is recorded in the audit trail in the same transaction.
    """
    audited = is_audited(type(row))
    old = copy(row) if audited else row
    for name, value in changes.items():
        setattr(row, name, value)
    if not changes:
        return row
    if not audited:
        update_columns(row, [*changes, "updated_at"])
        return row
    with transaction.atomic(savepoint=False), together():
        update_columns(row, [*changes, "updated_at"])
        record_update(old, row, changes)
    return row
