"""The wire formats of an appearance. Open points: appearance-put, appearance-values."""

from chatbots.models import Appearance
from chatbots.serializers.base import SettingsRecord, settings_fields, settings_shape

OPEN_POINTS = {
    name: ["appearance-values"]
    for name in ("icon_size", "icon_position", "default_mode", "icon_shape")
}


class AppearanceRecord(SettingsRecord):
    """How a bot looks."""

    open_points = OPEN_POINTS

    class Meta:
        model = Appearance
        fields = ["id", "chatbot_id", *Appearance.own_fields(), "created_at", "updated_at"]


AppearanceInput = settings_shape("AppearanceInput", settings_fields(Appearance), OPEN_POINTS)
