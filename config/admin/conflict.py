"""Warn a person whose form would overwrite what someone else has saved in the meantime."""

from datetime import datetime
from typing import Any

from django import forms
from django.db.models import Model
from django.forms.models import model_to_dict
from django.utils.text import Truncator

SEEN = "seen_at"  # the name of the form's hidden field
SHOWN = 1_000  # maximum number of characters of a saved value to show
FIELD_CONFLICT = (
    "Changed while you were editing. Save again to replace the saved value, which is: {}"
)
DELETED = "Deleted while you were editing."


def conflict_error(saved: str) -> str:
    """Return the error for a field that someone else has changed to `saved`."""
    return FIELD_CONFLICT.format(Truncator(saved or "(empty)").chars(SHOWN))


class SeenField(forms.CharField):
    """A hidden field for the time of the last save before the form was opened."""

    widget = forms.HiddenInput

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return False, because the time is not one of the row's values."""
        return False


class ConflictForm(forms.ModelForm[Any]):
    """A form that warns once before it replaces values that were saved after it was opened."""

    seen_at = SeenField(required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.initial[SEEN] = self.mark_of(self.instance)

    def mark_of(self, row: Any) -> str:
        """Return the time of the row's last save as text, or "" for a new row."""
        saved: datetime | None = getattr(row, "updated_at", None)  # may be absent on read-only rows
        return "" if row._state.adding or saved is None else saved.isoformat()

    def values_of(self, row: Model) -> dict[str, Any]:
        """Return a row's values in the format that the form's fields use."""
        return model_to_dict(row, fields=list(self.fields))

    def clean(self) -> dict[str, Any] | None:
        """Report values that were saved after the form was opened. Raises ValidationError.

        The row stays locked until the form is saved. Saving writes all columns, so the columns that
        the form does not show are first set to their stored values.
        """
        given = super().clean()
        seen = self.data.get(self.add_prefix(SEEN), "")
        if not seen or self.instance._state.adding:
            return given
        rows = type(self.instance)._base_manager.select_for_update(no_key=True)
        stored = rows.filter(pk=self.instance.pk).first()
        if stored is None:  # saving would insert the row again
            raise forms.ValidationError(DELETED)
        if self.mark_of(stored) != seen:
            self.report(stored)
        for field in stored._meta.concrete_fields:
            if field.name not in self.fields:
                setattr(self.instance, field.attname, getattr(stored, field.attname))
        return given

    def report(self, stored: Model) -> None:
        """Show the saved values of the fields that differ, and let the next save replace them."""
        self.initial = {**self.initial, **self.values_of(stored)}
        vars(self).pop("changed_data", None)  # outdated: computed before the row was locked
        differing = list(self.changed_data)
        if not differing:
            return
        data: Any = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict
        data[self.add_prefix(SEEN)] = self.mark_of(stored)
        self.data = data
        for name in differing:
            self.add_error(name, conflict_error(self.in_words(name)))

    def in_words(self, name: str) -> str:
        """Return a field's saved value as text."""
        field, value = self.fields[name], self.initial.get(name)
        if isinstance(field, forms.BooleanField):
            return "on" if value else "off"
        if isinstance(field, (forms.ModelMultipleChoiceField, forms.MultipleChoiceField)):
            return ", ".join(map(str, value or [])) or "(empty)"
        if isinstance(field, forms.ModelChoiceField):
            chosen = field.queryset.filter(pk=value).first() if field.queryset is not None else None
            return str(chosen or "(empty)")
        return str(field.prepare_value(value) if value not in (None, "") else "(empty)")
