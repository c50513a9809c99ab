"""Counts of each chatbot's activity by hour and by day, so that the home page reads few rows."""

from django.db import models
from django.db.models import Q

from chatbots.models import Chatbot

HOUR, DAY = 1, 24


def number() -> "models.PositiveIntegerField[int, int]":
    """Declare a counter column."""
    return models.PositiveIntegerField(default=0)


class Activity(models.Model):
    """One chatbot's counts for one hour or one day (UTC).

    Periods without activity have no row. Periodic work writes the rows (services/activity.py).
    """

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="activity")
    hours = models.PositiveSmallIntegerField(choices=[(HOUR, "hour"), (DAY, "day")])
    begins_at = models.DateTimeField()
    messages = number()  # excluding system messages
    ai_replies = number()  # including fallbacks
    fallbacks = number()
    escalations = number()  # requested by visitors
    answers = number()  # agents' first answers after an escalation
    answer_seconds = number()  # the total time that visitors waited for these answers
    leads = number()
    # The next four columns count deliveries by their current state, excluding tests.
    pending = number()
    retrying = number()
    success = number()
    failed = number()
    # When the columns in CONVERSATIONS were marked for a recount
    stale_at = models.DateTimeField(null=True)
    # When the columns in DELIVERIES were marked for a recount
    deliveries_stale_at = models.DateTimeField(null=True)

    CONVERSATIONS = (
        "messages",
        "ai_replies",
        "fallbacks",
        "escalations",
        "answers",
        "answer_seconds",
        "leads",
    )
    DELIVERIES = ("pending", "retrying", "success", "failed")

    class Meta:
        verbose_name_plural = "activity"
        constraints = [
            models.UniqueConstraint(
                fields=["chatbot", "hours", "begins_at"], name="activity_counted_once"
            )
        ]
        indexes = [
            models.Index(fields=["hours", "begins_at"], name="activity_by_time"),
            models.Index(
                fields=["begins_at"],
                name="activity_stale",
                condition=Q(stale_at__isnull=False) | Q(deliveries_stale_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.chatbot_id} from {self.begins_at:%Y-%m-%d %H:%M}"
