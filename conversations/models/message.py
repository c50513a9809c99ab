"""Messages. Specification: Resources, Message."""

from django.conf import settings
from django.db import models

from chatbots.models import LlmModel
from config.database.lengths import LONG, SHORT
from config.database.row import Row
from conversations.models.thread import Thread


class MessageType(models.TextChoices):
    """The author of a message. Open point: message-type."""

    USER_MESSAGE = "USER_MESSAGE"
    AI_MESSAGE = "AI_MESSAGE"
    AGENT_MESSAGE = "AGENT_MESSAGE"
    SYSTEM_MESSAGE = "SYSTEM_MESSAGE"


class SystemMessageType(models.TextChoices):
    """The event that a system message reports. Open point: system-type."""

    CONVERSATION_ESCALATED = "CONVERSATION_ESCALATED"
    CONVERSATION_RETURNED_TO_AI = "CONVERSATION_RETURNED_TO_AI"


class Message(Row):
    """A message in a thread. `position` counts from 1, in the order of insertion."""

    thread = models.ForeignKey(
        Thread, on_delete=models.CASCADE, related_name="messages", db_index=False
    )
    position = models.PositiveIntegerField()
    message_type = models.CharField(max_length=20, choices=MessageType.choices)
    system_message_type = models.CharField(
        max_length=40, choices=SystemMessageType.choices, null=True
    )
    content = models.TextField(max_length=LONG)
    agent = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    agent_name = models.CharField(max_length=SHORT, null=True)
    parent_message = models.ForeignKey(
        "self", null=True, on_delete=models.SET_NULL, related_name="replies"
    )
    llm_model = models.ForeignKey(
        LlmModel, null=True, on_delete=models.DO_NOTHING, related_name="+", db_index=False
    )
    reply_ms = models.PositiveIntegerField(null=True)  # how long the model took
    # why the bot's fallback message was used; null on all other messages
    fallback_reason = models.CharField(max_length=SHORT, null=True)
    reaction = models.CharField(max_length=SHORT, null=True)
    form_token = models.UUIDField(null=True, editable=False)  # identifies an agent's submitted form
    source = models.JSONField(default=list)
    is_edited = models.BooleanField(default=False)
    edited_by = models.CharField(max_length=SHORT, null=True)
    edited_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread", "position"], name="message_order"),
            models.UniqueConstraint(
                fields=["thread", "form_token"],
                name="answer_sent_once",
                condition=models.Q(form_token__isnull=False),
            ),
            models.UniqueConstraint(
                fields=["parent_message"],
                condition=models.Q(message_type=MessageType.AI_MESSAGE),
                name="one_reply_to_a_message",
            ),
        ]
        indexes = [
            # Makes it cheap to check whether a model is in use, however many messages refer to it.
            models.Index(
                fields=["llm_model"],
                name="message_llm_model",
                condition=models.Q(llm_model__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.message_type} {self.position}"
