"""Enforce the maximum lengths of a chatbot's lists on the chatbot's page."""

from typing import Any

from django import forms

from chatbots.models.base import ListFull


class BoundedFormSet(forms.BaseInlineFormSet):  # type: ignore[type-arg]  # generic in the stubs only
    """Rejects new rows if a list cannot hold all of them, even if it could hold any one of them.

    Open point: list-bounds.
    """

    def clean(self) -> None:
        """Reject more rows than the list can hold. Raises ValidationError."""
        super().clean()
        model: Any = self.model
        gone = self.deleted_forms
        added = [form for form in self.extra_forms if form.has_changed() and form not in gone]
        more = len(added) - len([form for form in self.initial_forms if form in gone])
        if more > 0:
            try:
                model.make_room(self.instance.pk, rows=more)
            except ListFull as full:
                raise forms.ValidationError(full.message) from None
