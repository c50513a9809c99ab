"""What a conversation can begin with. Open point: starters (its fields are not shown)."""

from django.db import models

from chatbots.models.base import ListRow
from chatbots.models.chatbot import Chatbot


class ConversationStarter(ListRow):
    """A JSON object, kept as given."""

    chatbot = models.ForeignKey(
        Chatbot, on_delete=models.CASCADE, related_name="conversation_starters"
    )
    content = models.JSONField(default=dict)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"starter of {self.chatbot}"
