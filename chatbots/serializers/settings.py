"""The wire formats that combine general and user-data settings. Open point: settings-put."""

from typing import Any

from rest_framework import serializers

from chatbots.models.lead_settings import USER_DATA
from chatbots.serializers.base import settings_shape
from chatbots.serializers.general_settings import (
    GENERAL_FIELDS,
    LIMITED,
    GeneralSettingsRecord,
)
from chatbots.serializers.user_data import USER_DATA_FIELDS
from config.api.fields import Flag, computed
from config.api.naming import camel

AllSettingsInput = settings_shape(
    "AllSettingsInput", GENERAL_FIELDS | USER_DATA_FIELDS, rule=LIMITED
)


class AllSettingsRecord(GeneralSettingsRecord):
    """How a bot behaves, and which contact details it asks for."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add the four user-data settings, which are false if the chatbot has no lead settings."""
        return super().get_fields() | {
            camel(name): computed(Flag, f"chatbot.leadsettings.{name}", of=bool)
            for name in USER_DATA
        }
