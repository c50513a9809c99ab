"""Visitors: the people who talk to a bot. Open point: visitor."""

from uuid import UUID

from django.db import models
from django.utils import timezone
from django.utils.text import Truncator

from chatbots.models import Chatbot
from config.database.erasable import ErasableRow, PresentRows, purge_index
from config.database.lengths import SHORT

SHORTENED = 24  # characters


def short(external_id: str) -> str:
    """Shorten a visitor's id for display: a uuid to its last digits, others only if very long.

    The first digits are a time in our own ids, the same for all visitors of a minute.
    """
    try:
        return str(UUID(external_id))[-8:]
    except ValueError:
        return Truncator(external_id).chars(SHORTENED)


def identified(email: str, phone: str) -> bool:
    """Return whether an e-mail address or a phone number is known. A name does not count.

    White space does not count either.
    """
    return any(text.strip() for text in (email, phone))


def anonymous(given: bool | None, email: str, phone: str) -> bool:
    """Return whether a thread is anonymous: as given, otherwise if no contact is known.

    Open point: thread-fields.
    """
    return given if given is not None else not identified(email, phone)


class Visitor(ErasableRow):
    """A visitor of one chatbot, identified by the id that the caller chose."""

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="visitors")
    external_id = models.CharField("visitor id", max_length=SHORT)  # visitorId on the wire
    name = models.CharField(max_length=SHORT, blank=True)
    email = models.CharField(max_length=SHORT, blank=True)
    phone = models.CharField(max_length=SHORT, blank=True)
    first_seen_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now)
    # Stored, so that a busy visitor's messages are never scanned to count them.
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
        return self.name or self.email or f"Visitor {short(self.external_id)}"

    @property
    def identified(self) -> bool:
        """Return whether this visitor's e-mail address or phone number is known."""
        return identified(self.email, self.phone)
