"""Change personas. Specification: Endpoints, Personas."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from chatbots.models import Persona
from config.api.errors import NotFound


def update(chatbot_id: UUID, persona_id: UUID, changes: Mapping[str, Any]) -> Persona:
    """Lock a persona until the transaction ends, and change its columns. Raises NotFound."""
    with transaction.atomic():
        rows = Persona.objects.select_for_update(of=("self",), no_key=True)
        row = rows.select_related("chatbot").filter(chatbot=chatbot_id, pk=persona_id).first()
        if row is None:
            raise NotFound("persona not found")
        return row.change(changes)
