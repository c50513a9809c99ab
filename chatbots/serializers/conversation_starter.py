"""The wire forms of a conversation starter: any object. Open point: starters."""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema

from chatbots.models import ConversationStarter
from config.api.serializers import Record, Shape


class StarterRecord(Record):
    """A conversation starter: what was given, and these."""

    class Meta:
        model = ConversationStarter
        fields = ["id", "chatbot_id", "created_at", "updated_at"]

    @classmethod
    def write(cls, value: Any) -> Any:
        """Write what was given; where it has a name of ours, ours counts."""
        return value.content | super().write(value)


class StarterInput(Shape):
    """A conversation starter: any object."""

    def to_internal_value(self, data: Any) -> Any:
        """Take it as it is."""
        return data


class AnyObject(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # spectacular's
    """Documents a StarterInput; a serializer without fields would be taken for no body at all."""

    target_class = StarterInput

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:
        """Describe it."""
        return {"type": "object", "additionalProperties": True, "description": StarterInput.__doc__}
