"""Find and delete a bot's lead settings. Specification: Endpoints, Lead settings."""

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from chatbots.access import lock_chatbot
from chatbots.models import LeadSettings
from config.api.errors import NotFound


def first(rows: "QuerySet[LeadSettings]") -> LeadSettings:
    """Return the first row. Raises NotFound. Open point: lead-repeat."""
    row = rows.first()
    if row is None:
        raise NotFound("lead settings not found")
    return row


def find(chatbot_id: UUID) -> LeadSettings:
    """Return a chatbot's lead settings. Raises NotFound."""
    return first(LeadSettings.objects.filter(chatbot=chatbot_id))


def remove(chatbot_id: UUID) -> LeadSettings:
    """Delete a chatbot's lead settings and return them as they were. Raises NotFound."""
    rows = LeadSettings.objects.filter(chatbot=chatbot_id)
    with transaction.atomic():
        lock_chatbot(chatbot_id)
        row = first(rows)
        rows.delete()  # row.delete() would clear the id of the returned row
    return row
