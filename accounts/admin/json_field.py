"""Form fields that are as strict as the API."""

from typing import Any

from django import forms
from django.forms.fields import InvalidJSONInput
from rest_framework import serializers

from config.api.errors import InvalidRequest, faults
from config.api.strict_json import parse

QUOTED = 100  # maximum number of characters quoted from a text item


def validated(field: "serializers.Field[Any, Any, Any, Any]", value: Any) -> Any:
    """Validate a value with a serializer field, as the API does.

    Raises Django's ValidationError instead of DRF's.
    """
    try:
        return field.run_validation(value)
    except serializers.ValidationError as error:
        texts = (
            f"{place(fault['path'], value)}: {fault['message']}" for fault in faults(error.detail)
        )
        raise forms.ValidationError([text.removeprefix(": ") for text in texts]) from None


def place(path: list[str], value: Any) -> str:
    """Describe the location of an error in a value, such as "item 2, field_type".

    Text items are quoted instead of numbered. A form shows them one per line, so people would have
    to count lines to find a numbered item.
    """
    words = []
    for name in path:
        if isinstance(value, list):
            value = value[int(name)]
            named = f"“{value[:QUOTED]}”" if isinstance(value, str) else f"item {int(name) + 1}"
            words.append(named)
        else:
            value = value.get(name) if isinstance(value, dict) else None
            words.append(name)
    return ", ".join(words)


class StrictJson(forms.JSONField):
    """Parses JSON as the API does. Django's own field crashes on deep nesting and accepts NUL."""

    def __init__(self, **options: Any) -> None:
        # Without this option, Django renders a second, hidden copy of the value if the default is a
        # function.
        super().__init__(**options | {"show_hidden_initial": False})

    def to_python(self, value: Any) -> Any:
        """Parse the text. Raises ValidationError."""
        if not isinstance(value, str) or not value.strip():
            return super().to_python(value)
        try:
            return parse(value.encode("utf-8", "surrogatepass"))
        except InvalidRequest as error:
            texts = [fault["message"] for fault in error.errors or []]
            raise forms.ValidationError(texts) from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Redisplay the submitted text, even if it cannot be parsed.

        Deep nesting raises RecursionError, and a number with too many digits raises ValueError.
        """
        try:
            return super().bound_data(data, initial)
        except (RecursionError, ValueError):
            return InvalidJSONInput(data)
