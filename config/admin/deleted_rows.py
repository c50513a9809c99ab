"""Leave rows out of a submitted list if someone else has deleted them in the meantime."""

from typing import Any

from django.forms import BoundField
from django.forms.formsets import DELETION_FIELD_NAME
from django.forms.utils import ErrorDict

from config.admin.conflict import DELETED

ROW_DELETED = f"{DELETED} Save again to leave this row out."


def editable(form: Any) -> list[BoundField]:
    """Return the fields of a form in which a person can change the row."""
    shown = (field for field in form.visible_fields() if field.name != DELETION_FIELD_NAME)
    return [field for field in shown if not field.field.disabled]


def edited(form: Any) -> list[BoundField]:
    """Return the fields whose values differ from those that the page showed.

    Invalid values always count as changed in `changed_data`, so these must also differ as texts.
    """
    for field in editable(form):
        field.field.show_hidden_initial = True  # makes Django compare with the submitted values
    changed = [field for field in editable(form) if field.name in form.changed_data]
    given = form.data.getlist
    return [each for each in changed if given(each.html_name) != given(each.html_initial_name)]


def leave_out(form: Any) -> None:
    """Neither check nor save the form of a deleted row. If it was edited, report that once.

    There is no row to compare the form with. It is compared with the values that the page showed,
    and after a report, with the values that were reported.
    """
    fields = edited(form)
    form.deleted, form.cleaned_data, form._errors = True, {}, ErrorDict()
    if fields and DELETION_FIELD_NAME not in form.changed_data:
        form.add_error(None, ROW_DELETED)
        form.data = form.data.copy()
        for field in fields:
            form.data.setlist(field.html_initial_name, form.data.getlist(field.html_name))
