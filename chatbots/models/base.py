"""One row of settings per chatbot: the model itself is the list of its settings."""

from typing import Any

from django.db import models

from chatbots.models.chatbot import Chatbot
from config.db import Row


class ChatbotSettings(Row):
    """A chatbot's one row of settings of some kind."""

    chatbot = models.OneToOneField(
        Chatbot, on_delete=models.CASCADE, related_name="%(class)s", editable=False
    )

    class Meta:
        abstract = True

    @classmethod
    def own_fields(cls) -> list[str]:
        """Name the settings: every column but the chatbot's and the ordinary ones."""
        return [
            field.name
            for field in cls._meta.concrete_fields
            if field.name not in cls.ORDINARY and field.name != "chatbot"
        ]

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} of {self.chatbot}"


def flag(default: bool = False) -> Any:
    """Declare a switch."""
    return models.BooleanField(default=default)


def text(default: str = "", length: int = 255) -> Any:
    """Declare a short text."""
    return models.CharField(max_length=length, default=default, blank=True)


def long_text(default: str = "") -> Any:
    """Declare a text up to the longest bound."""
    return models.TextField(max_length=65_535, default=default, blank=True)


def whole(default: int) -> Any:
    """Declare an integer that is never negative."""
    return models.PositiveIntegerField(default=default)
