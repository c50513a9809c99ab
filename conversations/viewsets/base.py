"""The base of threads and messages: creating either requires an active chatbot."""

from typing import Any

from chatbots.viewsets.base import ChatbotViewSet
from config.api.errors import Forbidden


class ChatbotInactive(Forbidden):
    """The chatbot is switched off. Open point: chatbot-active."""

    message = "chatbot is not active"


class ChattingViewSet(ChatbotViewSet):
    """Opens the chatbot, which must be active to create a thread or a message."""

    def open(self, **names: str) -> dict[str, Any]:
        """Open the chatbot. Raises ApiError, including ChatbotInactive."""
        rest = super().open(**names)
        if self.action == "create" and not self.chatbot.is_active:
            raise ChatbotInactive
        return rest
