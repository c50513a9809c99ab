"""The wire formats of conversation starters. A starter can be any object. Open point: starters."""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema

from chatbots.models import ConversationStarter
from config.api.serializers import Record, Shape


class StarterRecord(Record):
    """A conversation starter: the given object with these fields added."""

    takes_any = True  # otherwise, generated clients would offer only the fields that we add

    class Meta:
        model = ConversationStarter
        fields = ["id", "chatbot_id", "created_at", "updated_at"]

    @classmethod
    def write(cls, value: Any) -> Any:
        """Merge our fields into the given object, replacing fields of the same name."""
        return value.content | super().write(value)


class StarterInput(Shape):
    """A conversation starter: any JSON object."""

    def to_internal_value(self, data: Any) -> Any:
        """Accept the object unchanged."""
        return data


class AnyObject(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # spectacular's
    """Provides StarterInput's schema, because drf-spectacular omits serializers without fields."""

    target_class = StarterInput

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:
        """Return a schema that accepts any JSON object."""
        return {"type": "object", "additionalProperties": True, "description": StarterInput.__doc__}
