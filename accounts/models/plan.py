"""Plans: rate limits per minute, and optional quotas. Specification: Limits."""

from django.db import models

from config.database.row import Row


class Plan(Row):
    """The limits and quotas that an account pays for. An empty quota means no limit.

    Open point: plans.
    """

    name = models.CharField(max_length=50, unique=True)
    messages_per_minute = models.PositiveIntegerField()
    ai_replies_per_minute = models.PositiveIntegerField("AI replies per minute")
    monthly_messages = models.PositiveIntegerField(
        null=True, blank=True, help_text="Visitor messages per month. Leave empty for no limit."
    )
    max_chatbots = models.PositiveIntegerField(
        "chatbots",
        null=True,
        blank=True,
        help_text="Chatbots per account. Leave empty for no limit.",
    )
    webhooks_by_default = models.BooleanField(
        default=False, help_text="New accounts on this plan have the webhooks add-on"
    )

    class Meta:
        ordering = ["messages_per_minute"]

    def __str__(self) -> str:
        return self.name
