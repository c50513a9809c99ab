"""Leads: contact information that a visitor left. Open point: lead-capture."""

from django.db import models
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.lengths import SHORT
from config.database.row import Row
from conversations.models.thread import Thread


class Lead(Row):
    """Contact information that the bot was allowed to collect. A thread has at most one lead."""

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="leads")
    thread = models.OneToOneField(Thread, on_delete=models.CASCADE, related_name="lead")
    name = models.CharField(max_length=SHORT, blank=True)
    email = models.CharField(max_length=SHORT, blank=True)
    phone = models.CharField(max_length=SHORT, blank=True)
    captured_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["chatbot", "-captured_at", "-id"], name="lead_newest")]

    def __str__(self) -> str:
        return self.name or self.email or self.phone or "contact withdrawn"
