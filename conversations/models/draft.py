"""Replies from a language model that arrived after the thread had been escalated.

Only staff can see, edit and send them.
"""

from django.db import models

from chatbots.models import LlmModel
from config.database.row import Row
from conversations.models.message import Message


class Draft(Row):
    """A model's reply that arrived after the thread had been escalated."""

    message = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="draft")
    content = models.TextField()
    source = models.JSONField(default=list)
    llm_model = models.ForeignKey(
        LlmModel, null=True, on_delete=models.DO_NOTHING, related_name="+"
    )
    reply_ms = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ["created_at"]

    def __str__(self) -> str:
        return f"draft for {self.message}"
