"""JSON in forms, within the bounds that the API sets for a body."""

from typing import Any

from django import forms
from django.forms.fields import InvalidJSONInput

from config.api.body import parse
from config.api.errors import InvalidRequest


class StrictJson(forms.JSONField):
    """Reads JSON as the API does: Django's own field fails on deep nesting and stores NUL."""

    def __init__(self, **options: Any) -> None:
        # Django writes a second, hidden copy of the value where the default is a function
        super().__init__(**options | {"show_hidden_initial": False})

    def to_python(self, value: Any) -> Any:
        """Read the text. Raises ValidationError."""
        if not isinstance(value, str) or not value.strip():
            return super().to_python(value)
        try:
            return parse(value.encode("utf-8", "surrogatepass"))
        except InvalidRequest as error:
            texts = [fault["message"] for fault in error.errors or []]
            raise forms.ValidationError(texts) from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Show what was typed again, whatever it is."""
        try:
            return super().bound_data(data, initial)
        except RecursionError:
            return InvalidJSONInput(data)
