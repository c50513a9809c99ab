"""Visitors: the people who talk to a bot. Open point: visitor."""

from uuid import UUID

from django.db import models
from django.utils import timezone
from django.utils.text import Truncator

from chatbots.models import Chatbot
from chatbots.models.erasable import ErasableRow, PresentRows, purge_index
from config.database.lengths import SHORT

SHORTENED = 24  # maximum length of a shortened id


def short(external_id: str) -> str:
    """Shorten a visitor's id for display. A UUID is shortened to its last 8 digits.

    Generated ids begin with a timestamp, so ids generated in the same minute share their first
    digits. An id that is not a UUID is shortened to SHORTENED characters.
    """
    try:
        return str(UUID(external_id))[-8:]
    except ValueError:
        return Truncator(external_id).chars(SHORTENED)


def identified(email: str, phone: str) -> bool:
    """Return whether an email address or a phone number is known.

    A name does not count, and neither does a value that is only whitespace.
    """
    return any(text.strip() for text in (email, phone))


def anonymous(given: bool | None, email: str, phone: str) -> bool:
    """Return the given value or, if it is None, whether the visitor is unidentified.

    Open point: thread-fields.
    """
    return given if given is not None else not identified(email, phone)


class Visitor(ErasableRow):
    """A visitor of one chatbot, with an id that the API caller chose or that was generated."""

    chatbot = models.ForeignKey(Chatbot, on_delete=models.CASCADE, related_name="visitors")
    external_id = models.CharField("visitor id", max_length=SHORT)  # `visitorId` in the API
    name = models.CharField(max_length=SHORT, blank=True)
    email = models.CharField(max_length=SHORT, blank=True)
    phone = models.CharField(max_length=SHORT, blank=True)
    first_seen_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now)
    # These totals are stored, because counting a busy visitor's messages would read all of them.
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
        """Return whether this visitor's email address or phone number is known."""
        return identified(self.email, self.phone)
