"""Base models for a chatbot's settings and for the rows of its lists."""

from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models

from chatbots.models.chatbot import Chatbot
from config.api.errors import Refused
from config.database.lengths import LONG, SHORT
from config.database.row import Row

MOST = 200  # maximum number of rows in each of a chatbot's lists. Open point: list-bounds


class ListFull(Refused):
    """Raised when an addition would make a list longer than MOST rows."""


class ListRow(Row):
    """A row in one of a chatbot's lists. Each list holds at most MOST rows.

    Admin forms call `clean` to check this limit, and other code calls `make_room`. The rows that
    are created together with a chatbot are not checked.
    """

    checks_room = True  # False if a formset calls `make_room` once for all of its new rows

    class Meta:
        abstract = True

    @classmethod
    def make_room(cls, chatbot_id: UUID, rows: int = 1) -> None:
        """Check that the list has room for `rows` more rows. Raises ListFull.

        Call this inside a transaction. The chatbot stays locked until the transaction ends, so
        concurrent requests cannot jointly exceed the limit.
        """
        Chatbot.objects.lock(chatbot_id)
        present: Any = cls._default_manager  # Any: only subclasses have a `chatbot` column
        if present.filter(chatbot=chatbot_id).count() + rows > MOST:
            raise ListFull(f"a chatbot has at most {MOST} {cls._meta.verbose_name_plural}")

    def clean(self) -> None:
        """Reject a new row if the list is full. Raises ValidationError."""
        chatbot_id = getattr(self, "chatbot_id", None)
        if self.checks_room and self._state.adding and chatbot_id:
            try:
                self.make_room(chatbot_id)
            except ListFull as full:
                raise ValidationError(full.message) from None


class ChatbotSettings(Row):
    """One kind of settings. Each chatbot has at most one row of each kind."""

    chatbot = models.OneToOneField(
        Chatbot, on_delete=models.CASCADE, related_name="%(class)s", editable=False
    )

    class Meta:
        abstract = True

    @classmethod
    def own_fields(cls) -> list[str]:
        """Return the names of all columns except `chatbot`, `version` and those in ORDINARY."""
        return [
            field.name
            for field in cls._meta.concrete_fields
            if field.name not in cls.ORDINARY and field.name not in ("chatbot", "version")
        ]

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} of {self.chatbot}"


def flag(default: bool = False, *, label: str | None = None) -> Any:
    """Declare a boolean column. `label` is its name in the admin."""
    return models.BooleanField(label, default=default)


def text(default: str = "", *, label: str | None = None) -> Any:
    """Declare a short text column."""
    return models.CharField(label, max_length=SHORT, default=default, blank=True)


def long_text(default: str = "") -> Any:
    """Declare a long text column."""
    return models.TextField(max_length=LONG, default=default, blank=True)


def whole(default: int, *, label: str | None = None) -> Any:
    """Declare a column for a non-negative integer."""
    return models.PositiveIntegerField(label, default=default)
