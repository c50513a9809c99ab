"""Conversation starters. Open point: starters (their fields are not documented)."""

from django.db import models

from chatbots.models.base import ListRow
from chatbots.models.chatbot import Chatbot


class ConversationStarter(ListRow):
    """A conversation starter: any JSON object, stored unchanged."""

    chatbot = models.ForeignKey(
        Chatbot, on_delete=models.CASCADE, related_name="conversation_starters"
    )
    content = models.JSONField(default=dict)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"starter of {self.chatbot}"
