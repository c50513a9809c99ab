"""User-data settings. Specification: Endpoints, General and user-data settings."""

from typing import Any

from chatbots.models import LeadSettings
from chatbots.serializers.user_data import UserDataInput, UserDataRecord
from chatbots.services import settings
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation


class UserDataViewSet(ChatbotViewSet):
    """Change the user-data settings."""

    model = LeadSettings
    part = "Settings"

    @operation(
        body=UserDataInput,
        answer=UserDataRecord,
        message="user data settings updated successfully",
        open_points=("user-data",),
    )
    def update(self, changes: dict[str, Any]) -> LeadSettings:
        """Change the user-data settings.

        Omitted fields keep their values.
        """
        return settings.change(LeadSettings, self.chatbot.pk, changes)
