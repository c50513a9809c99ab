"""Read and change one kind of settings.

Each chatbot has at most one row of each kind, which is created when needed. Writers lock the
chatbot. The chatbot column is unique, so if two readers race to create the row, one of them creates
it and the other reads it. Open points: defaults, lead-repeat.
"""

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from auditlog.context import disable_auditlog
from django.db import transaction

from chatbots.access import lock_chatbot
from chatbots.models.base import ChatbotSettings
from config.database.row import save_changes

SettingsT = TypeVar("SettingsT", bound=ChatbotSettings)


def find_or_make(kind: type[SettingsT], chatbot_id: UUID) -> SettingsT:
    """Read the row, or create it with the defaults."""
    with disable_auditlog():  # not logged, because no person chose the defaults
        row, _ = kind._default_manager.get_or_create(chatbot_id=chatbot_id)
    return row


def lock(kind: type[SettingsT], chatbot_id: UUID) -> SettingsT:
    """Find or create the row, and lock it and its chatbot until the caller's transaction ends."""
    lock_chatbot(chatbot_id)
    rows = kind._default_manager.select_for_update(of=("self",)).select_related("chatbot")
    with disable_auditlog():
        row, _ = rows.get_or_create(chatbot_id=chatbot_id)
    return row


def change(kind: type[SettingsT], chatbot_id: UUID, changes: Mapping[str, Any]) -> SettingsT:
    """Apply changes, keyed by column name. Creates the row if needed."""
    with transaction.atomic():
        return save_changes(lock(kind, chatbot_id), changes)
