"""Buttons and links offered to visitors. Specification: Resources, Follow-up prompt."""

from django.db import models

from chatbots.models.base import ListRow
from chatbots.models.chatbot import Chatbot
from config.database.row import LONG, SHORT


class FollowUpPrompt(ListRow):
    """A button or a link. The fields of the other type are empty."""

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="follow_up_prompts")
    rank = models.PositiveIntegerField(default=0)
    esclate = models.BooleanField(default=False)  # the specification's spelling
    button_title = models.CharField(max_length=SHORT, blank=True)
    button_message = models.TextField(max_length=LONG, blank=True)
    link_text = models.CharField(max_length=SHORT, blank=True)
    link_src = models.CharField(max_length=SHORT, blank=True)

    class Meta:
        verbose_name = "follow-up prompt"
        ordering = ["rank", "created_at", "id"]

    def __str__(self) -> str:
        return self.button_title or self.link_text
