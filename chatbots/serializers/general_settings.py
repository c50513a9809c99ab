"""The wire formats of general settings. Open points: defaults, default-model."""

from chatbots.models import GeneralSettings
from chatbots.serializers.base import SettingsRecord, like, settings_fields, settings_shape
from config.api.fields import Identifier

OWN_FIELDS = ["llm_id" if name == "llm_model" else name for name in GeneralSettings.own_fields()]
GENERAL_FIELDS = settings_fields(GeneralSettings, without={"llm_model", "chat_start"}) | {
    "llm_model_id": Identifier(required=False, help_text="The id of an active model."),
    "max_messages_per_conversation": like(
        GeneralSettings,
        "max_messages_per_conversation",
        required=False,
        help_text="Can be set only if limitMessagesPerConversation is true after this request.",
    ),
}
LIMITED = {  # a body cannot both set the maximum and switch the limit off
    "if": {"required": ["maxMessagesPerConversation"]},
    "then": {"properties": {"limitMessagesPerConversation": {"type": "boolean", "const": True}}},
}


class GeneralSettingsRecord(SettingsRecord):
    """How a bot behaves."""

    llm_id = Identifier(help_text="The id of the model that answers.")
    open_points = {"llm_id": ["default-model"]}

    class Meta:
        model = GeneralSettings
        fields = ["id", "chatbot_id", *OWN_FIELDS, "created_at", "updated_at"]


GeneralSettingsInput = settings_shape("GeneralSettingsInput", GENERAL_FIELDS, rule=LIMITED)
