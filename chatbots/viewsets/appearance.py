"""The appearance of chatbots. Specification: Endpoints, Appearance and localization."""

from typing import Any

from chatbots.models import Appearance
from chatbots.serializers.appearance import AppearanceInput, AppearanceRecord
from chatbots.services import settings
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation


class AppearanceViewSet(ChatbotViewSet):
    """Read and change the appearance."""

    model = Appearance
    part = "Appearance"

    @operation(answer=AppearanceRecord, open_points=("appearance-values", "defaults"))
    def retrieve(self) -> Appearance | dict[str, Any]:
        """Read the appearance."""
        found = self.read(AppearanceRecord)
        return found[0] if found else settings.find_or_make(Appearance, self.chatbot.pk)

    @operation(
        body=AppearanceInput,
        answer=AppearanceRecord,
        open_points=("appearance-put", "appearance-values"),
    )
    def update(self, changes: dict[str, Any]) -> Appearance:
        """Change the appearance.

        Omitted fields keep their values.
        """
        return settings.change(Appearance, self.chatbot.pk, changes)
