"""Enforce the maximum lengths of a chatbot's lists on the chatbot's page."""

from typing import Any

from django import forms
from django.forms.formsets import DELETION_FIELD_NAME

from chatbots.models.base import ListFull
from config.admin.inline_pages import PagedFormSet


class BoundedFormSet(PagedFormSet):
    """Rejects new rows that together exceed a list's limit, even if each would fit on its own.

    Open point: list-bounds.
    """

    def add_fields(self, form: Any, index: int | None) -> None:
        """Let `clean` check the new rows instead, because it also considers deleted rows."""
        super().add_fields(form, index)
        form.instance.checks_room = False

    def clean(self) -> None:
        """Reject more rows than the list can hold. Raises ValidationError."""
        super().clean()
        model: Any = self.model
        # Do not use `deleted_forms` here, because it is empty if any form is invalid.
        gone = [form for form in self.forms if form.cleaned_data.get(DELETION_FIELD_NAME)]
        added = [form for form in self.extra_forms if form.has_changed() and form not in gone]
        more = len(added) - len([form for form in self.initial_forms if form in gone])
        if more > 0:
            try:
                model.make_room(self.instance.pk, rows=more)
            except ListFull as full:
                raise forms.ValidationError(full.message) from None
