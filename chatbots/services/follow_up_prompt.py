"""Change follow-up prompts. Specification: Endpoints, Follow-up prompts."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from chatbots.models import FollowUpPrompt
from config.api.errors import NotFound
from config.database.row import save_changes


def update(chatbot_id: UUID, prompt_id: UUID, changes: Mapping[str, Any]) -> FollowUpPrompt:
    """Lock a prompt until the transaction ends, and change its columns. Raises NotFound."""
    with transaction.atomic():
        rows = FollowUpPrompt.objects.select_for_update(of=("self",), no_key=True)
        row = rows.select_related("chatbot").filter(chatbot=chatbot_id, pk=prompt_id).first()
        if row is None:
            raise NotFound("follow-up prompt not found")
        return save_changes(row, changes)
