"""Change general settings. Specification: General and user-data settings."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from chatbots.models import GeneralSettings, LeadSettings, LlmModel
from chatbots.services import settings
from config.api.errors import InvalidRequest


def check(current: GeneralSettings, changes: Mapping[str, Any]) -> None:
    """Validate changes against the row, which the caller has locked. Raises InvalidRequest.

    Locks the chosen model.
    """
    limited = changes.get(
        "limit_messages_per_conversation", current.limit_messages_per_conversation
    )
    if "max_messages_per_conversation" in changes and not limited:
        raise InvalidRequest.at(
            ["maxMessagesPerConversation"],
            "Settable only when limitMessagesPerConversation is true",
        )
    if chosen := changes.get("llm_model_id"):
        # The lock ensures that the model still exists when this transaction commits.
        models = LlmModel.objects.select_for_update(no_key=True)
        if models.filter(pk=chosen, is_active=True).first() is None:
            raise InvalidRequest.at(["llmModelId"], "Expected the id of an active model")


def change(chatbot_id: UUID, changes: Mapping[str, Any]) -> GeneralSettings:
    """Apply changes, keyed by column name. Creates the row if needed. Raises InvalidRequest."""
    with transaction.atomic(savepoint=False):
        current = settings.lock(GeneralSettings, chatbot_id)
        check(current, changes)
        return current.change(changes)


def change_both(
    chatbot_id: UUID, *, general: Mapping[str, Any], user_data: Mapping[str, Any]
) -> None:
    """Apply general and user-data settings in one transaction. Raises InvalidRequest.

    Lead settings are created only if user data is given, because creating them starts lead
    collection. Open point: settings-put.
    """
    with transaction.atomic(savepoint=False):
        change(chatbot_id, general)
        if user_data:
            settings.change(LeadSettings, chatbot_id, user_data)
