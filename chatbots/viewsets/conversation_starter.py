"""Conversation starters. Open point: starters."""

from typing import Any

from chatbots.models import ConversationStarter
from chatbots.serializers.conversation_starter import StarterInput, StarterRecord
from chatbots.services import conversation_starter as starters
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation


class ConversationStarterViewSet(ChatbotViewSet):
    """Create conversation starters."""

    model = ConversationStarter
    part = "Conversation starters"

    @operation(body=StarterInput, answer=StarterRecord, open_points=("starters", "list-bounds"))
    def create(self, given: dict[str, Any]) -> ConversationStarter:
        """Create a conversation starter from any JSON object."""
        return starters.create(self.chatbot.pk, given)
