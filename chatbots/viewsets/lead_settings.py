"""Lead settings. Specification: Endpoints, Lead settings."""

from typing import Any

from chatbots.models import LeadSettings
from chatbots.serializers.lead_settings import LeadSettingsInput, LeadSettingsRecord
from chatbots.services import lead_settings, settings
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation


class LeadSettingsViewSet(ChatbotViewSet):
    """Create, change, read and delete the lead settings."""

    model = LeadSettings
    part = "Lead settings"

    @operation(
        body=LeadSettingsInput,
        answer=LeadSettingsRecord,
        message="lead settings created successfully",
        open_points=("lead-repeat", "status-created", "defaults"),
    )
    def create(self, given: dict[str, Any]) -> LeadSettings:
        """Create the lead settings, or change them if they exist.

        Omitted fields keep their values or, in new settings, get their defaults.
        """
        return settings.change(LeadSettings, self.chatbot.pk, given)

    @operation(answer=LeadSettingsRecord, open_points=("lead-repeat",))
    def retrieve(self) -> dict[str, Any]:
        """Read the lead settings."""
        return lead_settings.first(self.read(LeadSettingsRecord))

    @operation(
        answer=LeadSettingsRecord,
        message="lead settings deleted successfully",
        open_points=("lead-repeat",),
    )
    def destroy(self) -> LeadSettings:
        """Delete the lead settings and return them as they were."""
        return lead_settings.remove(self.chatbot.pk)
