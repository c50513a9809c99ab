"""The wire format of a set of interface texts. Missing texts fall back to the shipped ones."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from rest_framework import serializers

from chatbots.models import Localization
from chatbots.models.localization import complete
from chatbots.texts import NAMES
from config.api.fields import Text, Whole
from config.api.serializers import Record, Shape
from config.database.lengths import LONG


class LocalizationRecord(Record):
    """The interface texts of one locale."""

    class Meta:
        model = Localization
        fields = ["id", "chatbot_id", "locale_code", "updated_at"]

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add a string field for each text. The texts' names are already in camelCase."""
        return super().get_fields() | {name: Text(max_length=LONG) for name in NAMES}

    @classmethod
    @cache
    def paths(cls) -> tuple[str, ...]:
        """List the columns to read. `texts` holds every text that has been changed for the bot."""
        return ("id", "chatbot_id", "locale_code", "updated_at", "texts")

    @classmethod
    def records(cls, rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
        """Fill in the missing texts of each set."""
        return [
            {"id": key, "chatbotId": chatbot, "localeCode": code, "updatedAt": changed}
            | complete(code, texts)
            for key, chatbot, code, changed, texts in rows
        ]


class LocalizationSets(Shape):
    """The text sets of a chatbot, oldest first."""

    data = LocalizationRecord(many=True)  # type: ignore[assignment]  # the contract's name
    count = Whole()
