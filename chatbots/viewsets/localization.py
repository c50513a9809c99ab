"""Interface texts. Specification: Endpoints, Appearance and localization."""

from typing import Any

from chatbots.models import Localization
from chatbots.serializers.localization import LocalizationRecord, LocalizationSets
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation


class LocalizationViewSet(ChatbotViewSet):
    """Read the sets of interface texts. Staff edit them in the admin."""

    model = Localization
    part = "Localization"

    @operation(answer=LocalizationSets)
    def list(self) -> dict[str, Any]:
        """Read the interface texts, one complete set for each locale."""
        sets = self.read(LocalizationRecord)
        return {"data": sets, "count": len(sets)}
