"""Personas. Specification: Endpoints, Personas."""

from typing import Any

from chatbots.models import Persona
from chatbots.serializers.persona import PersonaInput, PersonaRecord
from chatbots.services import persona as personas
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import operation


class PersonaViewSet(ChatbotViewSet):
    """Change personas. Staff create them in the admin."""

    model = Persona
    part = "Personas"

    @operation(
        body=PersonaInput,
        partial=True,
        answer=PersonaRecord,
        message="persona updated successfully",
    )
    def update(self, changes: dict[str, Any], persona_id: str) -> Persona:
        """Change a persona.

        Omitted fields keep their values.
        """
        return personas.update(self.chatbot.pk, self.key(persona_id), changes)
