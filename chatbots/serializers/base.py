"""Derive wire fields from model fields, so that models define most bounds and defaults."""

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

from django.db import models
from rest_framework import serializers

from chatbots.models.appearance import COLOR, COLOR_FORM
from chatbots.models.base import ChatbotSettings
from config.api.fields import Flag, Json, Number, Text, Whole
from config.api.serializers import Record, Shape


class Color(Text):
    """A color as #rrggbb or #rgb. Open point: appearance-values."""

    FORM = re.compile(COLOR_FORM)
    PATTERN = f"^{COLOR_FORM}$"
    default_error_messages = {"form": "Expected a color such as #1a2b3c"}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not self.FORM.fullmatch(text):
            self.fail("form")
        return text


def like(model: type[models.Model], name: str, **options: Any) -> Any:
    """Return a strict API field for a column, with the same bounds as the column."""
    match model._meta.get_field(name):
        case models.BooleanField():
            return Flag(**options)
        case models.PositiveIntegerField():
            return Whole(**options)
        case models.FloatField() as column:
            # Number takes options named after the codes of validators, such as min_value.
            bounds: list[Any] = column.validators
            return Number(**{bound.code: bound.limit_value for bound in bounds}, **options)
        case models.JSONField():
            return Json(**options)
        case models.CharField() as column if COLOR in column.validators:
            return Color(allow_blank=False, **options)
        case models.CharField() | models.TextField() as column:
            return Text(max_length=column.max_length, **options)
        case column:
            raise TypeError(f"there is no API field type for {column}")


def settings_fields(
    model: type[ChatbotSettings], *, without: Container[str] = ()
) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
    """Return an optional API field for each of a model's settings, except those in `without`."""
    return {
        name: like(model, name, required=False)
        for name in model.own_fields()
        if name not in without
    }


def settings_shape(
    name: str,
    fields: Mapping[str, serializers.Field[Any, Any, Any, Any]],
    open_points: Mapping[str, Sequence[str]] | None = None,
    *,
    rule: Mapping[str, Any] | None = None,
) -> type[Shape]:
    """Create a Shape for request bodies that change settings.

    `open_points` is keyed by field name.
    """
    doc = "Omitted fields keep their values."
    about = {"__doc__": doc, "open_points": open_points or {}, "rule": rule}
    return type(name, (Shape,), {**about, **fields})


class SettingsRecord(Record):
    """Base class for settings records. The OpenAPI document shows the settings' default values."""

    def build_standard_field(self, field_name: str, model_field: Any) -> tuple[Any, dict[str, Any]]:
        """Add the model's default to the field."""
        kind, options = super().build_standard_field(field_name, model_field)
        settings: Any = self.Meta.model  # Any: DRF allows any model
        if field_name in settings.own_fields():
            options = {"default": model_field.get_default()} | options
            options.pop("required", None)
        return kind, options
