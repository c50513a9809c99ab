"""Personas for bots. Specification: Resources, Persona."""

from django.db import models

from chatbots.models.base import ListRow
from chatbots.models.chatbot import Chatbot
from chatbots.models.instruction import creativity
from chatbots.models.version import VersionedRow
from config.database.lengths import LONG


class Persona(VersionedRow, ListRow):
    """A role that a bot plays. Staff create personas in the admin."""

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="personas")
    title = models.CharField(max_length=50)
    description = models.TextField(max_length=LONG, null=True, blank=True)
    instructions = models.TextField(max_length=LONG, blank=True)
    creativity_level = creativity()
    deletable = models.BooleanField(default=True)
    is_active = models.BooleanField("active", default=True)

    content_fields = ("title", "description", "instructions", "creativity_level")

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.title
