"""Find and delete a bot's lead settings. Specification: Endpoints, Lead settings."""

from collections.abc import Sequence
from copy import copy
from typing import TypeVar
from uuid import UUID

from django.db import transaction

from chatbots.access import lock_chatbot
from chatbots.models import LeadSettings
from config.api.errors import NotFound

FoundT = TypeVar("FoundT")


def first(rows: Sequence[FoundT]) -> FoundT:
    """Return a chatbot's lead settings, the only item of `rows`. Raises NotFound if it is empty.

    Open point: lead-repeat.
    """
    if not rows:
        raise NotFound("lead settings not found")
    return rows[0]


def remove(chatbot_id: UUID) -> LeadSettings:
    """Delete a chatbot's lead settings and return them as they were. Raises NotFound."""
    rows = LeadSettings.objects.select_for_update().filter(chatbot=chatbot_id)
    with transaction.atomic():
        lock_chatbot(chatbot_id)
        row = first([*rows])
        copy(row).delete()  # deleting `row` itself would clear its id
    return row
