"""Strict fields: each accepts exactly one JSON type. Open points: types, texts, timestamps."""

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.validators import ProhibitSurrogateCharactersValidator

from config.database.lengths import SHORT

REQUIRED = "Required"
BOUNDS = {"max_value": "Must be at most {max_value}", "min_value": "Must be at least {min_value}"}


def expected(kind: str) -> dict[str, Any]:  # Any: DRF also accepts lazy strings
    """Return the error messages of a field that accepts one JSON type."""
    return {"invalid": f"Expected {kind}", "required": REQUIRED, "null": f"Expected {kind}"}


class Text(serializers.CharField):
    """A string, kept unchanged. A blank string is rejected unless `allow_blank` is set."""

    # The OpenAPI document's pattern for a string that must not be blank. In JSON Schema, \s does
    # not match the separators U+001C to U+001F and U+0085, but str.strip() removes them.
    PATTERN = r"[^\s\x1c-\x1f\x85]"
    default_error_messages = {
        **expected("string"),
        "blank": REQUIRED,
        "max_length": "Must have at most {max_length} characters",
    }

    def __init__(self, **options: Any) -> None:
        options.setdefault("max_length", SHORT)
        options.setdefault("trim_whitespace", False)
        if not options.get("read_only"):
            options.setdefault("allow_blank", not options.get("required", True))
        super().__init__(**options)
        # The parser has already checked for surrogates; DRF's check takes 30 ms for 1 MiB.
        self.validators.remove(ProhibitSurrogateCharactersValidator())

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) and not self.allow_blank and not data.strip():
            self.fail("blank")
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class Whole(serializers.IntegerField):
    """An integer; 1.0 and true are rejected."""

    default_error_messages = expected("integer") | BOUNDS

    def __init__(self, **options: Any) -> None:
        options.setdefault("min_value", 0)
        options.setdefault("max_value", 2**31 - 1)
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:  # isinstance() would accept True
            self.fail("invalid")
        return data


class QueryWhole(Whole):
    """An integer in a query string; only digits are accepted."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, str) or not (data.isascii() and data.isdecimal()):
            self.fail("invalid")
        # Keep 20 digits, enough to exceed any bound: int() raises an error for thousands of them.
        return super().to_internal_value(int(data.lstrip("0")[:20] or 0))


class Number(serializers.FloatField):
    """A number; true is rejected."""

    default_error_messages = expected("number") | BOUNDS

    def to_internal_value(self, data: Any) -> float:
        if type(data) not in (int, float):
            self.fail("invalid")
        return float(data)


class Flag(serializers.BooleanField):
    """A JSON true or false; 1 and "true" are rejected."""

    default_error_messages = expected("boolean")
    NULL_VALUES: set[Any] = set()

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class Identifier(serializers.UUIDField):
    """A uuid as a string."""

    default_error_messages = expected("uuid")
    FORM = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str) or not self.FORM.fullmatch(data):
            self.fail("invalid")
        return UUID(data)


class Timestamp(serializers.DateTimeField):
    """A time in UTC with milliseconds. It is only sent, never received."""


class Choice(serializers.ChoiceField):
    """One of the documented values."""

    default_error_messages = {
        **expected("string"),
        "invalid_choice": "Expected one of the documented values",
    }

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("invalid_choice", input=data)
        return data


class TextList(serializers.ListField):
    """An array. Its items are strings unless `child` is given."""

    default_error_messages = {
        **expected("array"),
        "not_a_list": "Expected array",
        "max_length": "Must have at most {max_length} items",
    }

    def __init__(self, **options: Any) -> None:
        options.setdefault("child", Text(allow_blank=False))
        options.setdefault("max_length", 100)
        super().__init__(**options)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Check the length first, because validating thousands of invalid items is slow."""
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().run_validation(data)


@extend_schema_field({"type": "object", "additionalProperties": True})
class Json(serializers.JSONField):
    """A free-form JSON object."""

    default_error_messages = expected("object")

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            self.fail("invalid")
        return data


def computed(
    kind: type[serializers.Field[Any, Any, Any, Any]],
    *columns: str,
    of: Callable[..., Any],
    **options: Any,
) -> Any:
    """Return a read-only field of type `kind` whose value is a pure function of its row's columns.

    The field gets its own class, because DRF copies a field by instantiating its class again.
    """
    made = type(kind.__name__, (kind,), {"columns": columns, "compute": staticmethod(of)})
    return made(read_only=True, **options)
