"""The wire formats of a persona."""

from chatbots.models import Persona
from chatbots.serializers.base import like
from config.api.serializers import Record, Shape


class PersonaRecord(Record):
    """A role that a bot plays."""

    class Meta:
        model = Persona
        fields = [
            "id",
            "chatbot_id",
            "title",
            "description",
            "instructions",
            "creativity_level",
            "deletable",
            "is_active",
            "created_at",
            "updated_at",
        ]


class PersonaInput(Shape):
    """Changes to a persona. Omitted fields keep their values."""

    title = like(Persona, "title")
    description = like(Persona, "description", allow_null=True, allow_blank=True)
    instructions = like(Persona, "instructions", allow_blank=True)
    creativity_level = like(Persona, "creativity_level")
