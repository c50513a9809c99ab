"""Store conversation starters. Open points: starters, list-bounds."""

from typing import Any
from uuid import UUID

from django.db import transaction

from chatbots.models import ConversationStarter


def create(chatbot_id: UUID, content: dict[str, Any]) -> ConversationStarter:
    """Store an object as a conversation starter. Raises ListFull."""
    with transaction.atomic():
        ConversationStarter.make_room(chatbot_id)
        return ConversationStarter.objects.create(chatbot_id=chatbot_id, content=content)
