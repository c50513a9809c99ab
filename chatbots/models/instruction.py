"""System instructions for bots. Specification: Resources, Instruction."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from chatbots.models.base import ListRow
from chatbots.models.chatbot import Chatbot
from chatbots.models.version import VersionedRow
from config.database.lengths import LONG

DEFAULT_CREATIVITY = 0.5


def creativity() -> "models.FloatField[float, float]":
    """Declare a column for a creativity level from 0 to 1 inclusive."""
    return models.FloatField(
        default=DEFAULT_CREATIVITY, validators=[MinValueValidator(0), MaxValueValidator(1)]
    )


class Instruction(VersionedRow, ListRow):
    """A system instruction. A chatbot has at most one active instruction.

    Open point: instruction-active.
    """

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="instructions")
    title = models.CharField(max_length=100)
    instruction = models.TextField(max_length=LONG)
    creativity_level = creativity()
    deletable = models.BooleanField(default=True)
    is_active = models.BooleanField("active", default=False)

    content_fields = ("title", "instruction", "creativity_level")

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["chatbot"], condition=Q(is_active=True), name="one_active_instruction"
            )
        ]

    def __str__(self) -> str:
        return self.title
