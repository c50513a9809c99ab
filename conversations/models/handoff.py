"""Handoffs: visitors' requests for a human agent, with the outcomes that the home page counts."""

from django.db import models
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.row import Row
from conversations.models.thread import Thread


class Handoff(Row):
    """A visitor's request for a human agent in a thread.

    `answered_at`, `resolved_at` and `came_back_at` are each null until that event happens.
    """

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="+", db_index=False)
    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="handoffs")
    asked_at = models.DateTimeField(default=timezone.now)
    answered_at = models.DateTimeField(null=True)  # an agent's first answer
    resolved_at = models.DateTimeField(null=True)
    came_back_at = models.DateTimeField(null=True)  # visitor wrote within 7 days of resolved_at

    class Meta:
        indexes = [
            models.Index(fields=["chatbot", "asked_at"], name="handoff_of_bot"),
            models.Index(fields=["asked_at"], name="handoff_asked"),
        ]

    def __str__(self) -> str:
        return f"request of {self.asked_at:%Y-%m-%d %H:%M}"
