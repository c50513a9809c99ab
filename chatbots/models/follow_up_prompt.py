"""Buttons and links offered to visitors. Specification: Resources, Follow-up prompt."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from chatbots.models.base import ListRow
from chatbots.models.chatbot import Chatbot
from config.api.errors import Refused
from config.database.lengths import LONG, SHORT

BUTTON = ("button_title", "button_message")
LINK = ("link_text", "link_src")
BOTH = "Cannot provide both button fields and link fields"
NEITHER = "Must provide either (buttonTitle + buttonMessage) or (linkText + linkSrc)"


class FollowUpPrompt(ListRow):
    """A button or a link. The fields of the other type are empty."""

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="follow_up_prompts")
    rank = models.PositiveIntegerField(default=0)
    esclate = models.BooleanField("escalate", default=False)  # the specification's spelling
    button_title = models.CharField(max_length=SHORT, blank=True)
    button_message = models.TextField(max_length=LONG, blank=True)
    link_text = models.CharField(max_length=SHORT, blank=True)
    link_src = models.CharField(max_length=SHORT, blank=True)

    class Meta:
        verbose_name = "follow-up prompt"
        ordering = ["rank", "created_at", "id"]

    def __str__(self) -> str:
        return self.button_title or self.link_text


def one_pair(given: Mapping[str, Any]) -> dict[str, str]:
    """Return a prompt's four texts: those of a button or of a link, with the other two empty.

    A text that is missing or None counts as empty. A button or a link is complete if neither of its
    texts is blank. Raises Refused if texts of both are given, or if neither is complete.
    """
    texts = {name: given.get(name) or "" for name in (*BUTTON, *LINK)}
    button, link = ([texts[name] for name in pair] for pair in (BUTTON, LINK))
    if any(button) and any(link):
        raise Refused(BOTH)
    if not any(all(text.strip() for text in pair) for pair in (button, link)):
        raise Refused(NEITHER)
    return texts
