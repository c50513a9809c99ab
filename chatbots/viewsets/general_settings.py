"""General settings. Specification: Endpoints, General and user-data settings."""

from typing import Any

from django.db import transaction

from chatbots.models import GeneralSettings
from chatbots.serializers.general_settings import GeneralSettingsInput, GeneralSettingsRecord
from chatbots.services import general_settings
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation


class GeneralSettingsViewSet(ChatbotViewSet):
    """Change the general settings."""

    model = GeneralSettings
    part = "Settings"

    @operation(
        body=GeneralSettingsInput,
        answer=GeneralSettingsRecord,
        message="general settings updated successfully",
        open_points=("defaults", "default-model"),
    )
    def update(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Change the general settings.

        Omitted fields keep their values.
        """
        with transaction.atomic():  # other requests cannot change the row before it is read back
            general_settings.change(self.chatbot.pk, changes)
            return GeneralSettingsRecord.read_one(self.rows().with_llm())
