"""General and user-data settings in one request. Open point: settings-put."""

from typing import Any

from django.db import transaction

from chatbots.models import GeneralSettings
from chatbots.serializers.settings import AllSettingsInput, AllSettingsRecord
from chatbots.serializers.user_data import USER_DATA_FIELDS
from chatbots.services import general_settings
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation


class SettingsViewSet(ChatbotViewSet):
    """Change general and user-data settings together."""

    model = GeneralSettings
    part = "Settings"

    @operation(
        body=AllSettingsInput,
        answer=AllSettingsRecord,
        open_points=("settings-put", "defaults", "user-data"),
    )
    def update(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Change general and user-data settings.

        Omitted fields keep their values.
        """
        user_data = {name: changes.pop(name) for name in USER_DATA_FIELDS if name in changes}
        with transaction.atomic():  # other requests cannot change the row before it is read back
            general_settings.change_both(self.chatbot.pk, general=changes, user_data=user_data)
            return AllSettingsRecord.read_one(self.rows().with_llm())
