"""Leave rows out of a submitted list if someone else has deleted them in the meantime."""

from typing import Any

from django.forms import BoundField
from django.forms.formsets import DELETION_FIELD_NAME
from django.forms.utils import ErrorDict

from config.admin.conflict import DELETED

ROW_DELETED = f"{DELETED} Save again to leave this row out."


def editable(form: Any) -> list[BoundField]:
    """Return a form's visible and editable fields, except the deletion checkbox."""
    shown = (field for field in form.visible_fields() if field.name != DELETION_FIELD_NAME)
    return [field for field in shown if not field.field.disabled]


def edited(form: Any) -> list[BoundField]:
    """Return the fields whose values differ from those that the page showed.

    `changed_data` treats every invalid value as changed, so the submitted texts are compared too.
    """
    for field in editable(form):
        field.field.show_hidden_initial = True  # makes Django compare with the values shown
    changed = [field for field in editable(form) if field.name in form.changed_data]
    given = form.data.getlist
    return [each for each in changed if given(each.html_name) != given(each.html_initial_name)]


def leave_out(form: Any) -> None:
    """Exclude a deleted row's form from validation and saving.

    If the person has edited the form, an error says that the row has been deleted. Because the row
    no longer exists, edits are detected by comparing the form with the values that the page showed.
    With the error, the page shows the edited values, so the error is repeated only if the person
    edits them again.
    """
    fields = edited(form)
    form.deleted, form.cleaned_data, form._errors = True, {}, ErrorDict()
    if fields and DELETION_FIELD_NAME not in form.changed_data:
        form.add_error(None, ROW_DELETED)
        form.data = form.data.copy()
        for field in fields:
            form.data.setlist(field.html_initial_name, form.data.getlist(field.html_name))
