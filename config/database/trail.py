"""Create audit trail entries for changes that send no Django signals.

django-auditlog listens to the signals of `Model.save` and `delete`. Prepared statements and
`QuerySet.update` send no signals, so the functions that run them for audited rows call this module.
The manager of `accounts.models.Change` creates the entries.
"""

from collections.abc import Iterable
from typing import Any

from auditlog import get_logentry_model
from auditlog.diff import model_instance_diff
from auditlog.registry import auditlog
from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from config.audited import LEFT_OUT


def audit(models: Iterable[type[Model]]) -> None:
    """Register models for the audit trail, with all their columns except those in LEFT_OUT.

    Without a list of columns, django-auditlog would also read and record the rows that refer to a
    row.
    """
    for model in models:
        names = {field.name for field in model._meta.concrete_fields} - LEFT_OUT
        auditlog.register(model, include_fields=sorted(names))


def is_audited(model: type[Model]) -> bool:
    """Return whether changes to a model's rows are recorded."""
    return bool(auditlog.contains(model))


def record_update(old: Model, new: Model, names: Iterable[str]) -> None:
    """Record how the named columns of a row have changed. Uses the caller's transaction."""
    if not is_audited(type(new)):
        return
    if changes := model_instance_diff(old, new, fields_to_check=list(names)):
        entries: Any = get_logentry_model()
        entries.objects.log_create(new, action=entries.Action.UPDATE, changes=changes)


def record_deletion(row: Model) -> None:
    """Record that a row was deleted."""
    entries: Any = get_logentry_model()
    entries.objects.log_create(row, action=entries.Action.DELETE, force_log=True)


def update_rows(rows: "QuerySet[Any]", **values: Any) -> int:
    """Update audited rows and record each row's changes. Returns the number of updated rows."""
    with transaction.atomic():
        found = list(rows.select_for_update(of=("self",)))
        if not found:
            return 0
        same: Any = rows.model._base_manager.filter(pk__in=[row.pk for row in found])
        same.update(**values, updated_at=timezone.now())
        after = same.in_bulk()
        for old in found:
            record_update(old, after[old.pk], values)
        return len(found)
