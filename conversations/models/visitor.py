"""Visitors: who talks to a bot. Open point: visitor."""

from django.db import models
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.erasable import ErasableRow, PresentRows, purge_index
from config.database.row import SHORT


def is_contact(*values: str) -> bool:
    """Say whether one of the values is contact information: white space is not."""
    return any(value.strip() for value in values)


class Visitor(ErasableRow):
    """A visitor of one chatbot, under the name that the caller gives him."""

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="visitors")
    external_id = models.CharField("visitor id", max_length=SHORT)  # visitorId on the wire
    name = models.CharField(max_length=SHORT, blank=True)
    email = models.CharField(max_length=SHORT, blank=True)
    phone = models.CharField(max_length=SHORT, blank=True)
    first_seen_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now)
    # Kept, not counted: a busy visitor's messages are never scanned for a number
    total_sessions = models.PositiveIntegerField(default=0)
    total_messages = models.PositiveIntegerField(default=0)

    objects = PresentRows["Visitor"]()

    class Meta:
        default_manager_name = "objects"
        indexes = [purge_index("visitor_purge")]
        constraints = [
            models.UniqueConstraint(fields=["chatbot", "external_id"], name="visitor_known_once")
        ]

    def __str__(self) -> str:
        return self.name or self.email or f"Visitor {self.external_id[:8]}"

    @property
    def identified(self) -> bool:
        """Say whether an e-mail address or a phone number is known; a name does not count."""
        return is_contact(self.email, self.phone)
