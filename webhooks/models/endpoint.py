"""Define endpoints, to which chatbots' events are sent. Specification: Events, 1 and 3."""

from django.db import models

from chatbots.models import Chatbot
from config.database import lengths
from config.database.row import Row
from webhooks.guard import LONGEST_URL
from webhooks.payloads import Event

FIRST_LIMIT = 2  # initial limit on attempts in flight; successes raise the limit


def all_events() -> list[str]:
    """Return every event kind. By default, an endpoint subscribes to all of them."""
    return [event.value for event in Event]


class Endpoint(Row):
    """A chatbot's webhook configuration. A chatbot has at most one endpoint."""

    chatbot = models.OneToOneField(Chatbot, on_delete=models.CASCADE, related_name="endpoint")
    url = models.CharField("URL", max_length=LONGEST_URL)
    sealed_secret = models.TextField(editable=False)
    masked_secret = models.CharField("secret", max_length=20, editable=False)
    secret_made_at = models.DateTimeField(editable=False)
    secret_made_by = models.CharField(max_length=lengths.SHORT, blank=True, editable=False)
    events = models.JSONField(default=all_events)
    is_active = models.BooleanField("active", default=True)
    # The receiver's health, written when attempts are settled
    last_success_at = models.DateTimeField(null=True, editable=False)
    failing_since = models.DateTimeField(null=True, editable=False)
    last_failure_at = models.DateTimeField(null=True, editable=False)
    failures_in_a_row = models.PositiveIntegerField(default=0, editable=False)
    timed_out = models.BooleanField(default=False, editable=False)  # the last attempt timed out
    # Limit on attempts in flight, to be rounded down. Successes raise it, and timeouts halve it.
    attempts_limit = models.FloatField(default=FIRST_LIMIT, editable=False)
    # When the owner was emailed about the failure. Set to null again when the owner is emailed
    # about the recovery, or when the URL changes.
    owner_told_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = "webhook"
        ordering = ["chatbot"]

    def __str__(self) -> str:
        return f"webhook of {self.chatbot}"
