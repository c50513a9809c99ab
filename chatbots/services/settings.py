"""A chatbot's one row of settings of some kind: made on demand, and never twice.

Writers take turns; of two first readers the unique chatbot column makes one find the other's row.
Open points: defaults, lead-repeat.
"""

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction

from chatbots.access import lock_chatbot
from chatbots.models.base import ChatbotSettings
from config.database.row import save_changes

SettingsT = TypeVar("SettingsT", bound=ChatbotSettings)


def find_or_make(kind: type[SettingsT], chatbot_id: UUID) -> SettingsT:
    """Read the row; where there is none, it begins with the defaults."""
    row, _ = kind._default_manager.get_or_create(chatbot_id=chatbot_id)
    return row


def lock(kind: type[SettingsT], chatbot_id: UUID) -> SettingsT:
    """Do the same inside the caller's transaction; who writes or deletes it waits for the end."""
    lock_chatbot(chatbot_id)
    row, _ = kind._default_manager.select_for_update().get_or_create(chatbot_id=chatbot_id)
    return row


def change(kind: type[SettingsT], chatbot_id: UUID, changes: Mapping[str, Any]) -> SettingsT:
    """Apply changes to the row."""
    with transaction.atomic():
        return save_changes(lock(kind, chatbot_id), changes)
