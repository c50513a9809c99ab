"""Restore earlier versions of instructions and personas."""

from chatbots.models import Instruction, Persona, Version
from chatbots.models.version import content_at
from chatbots.services import instruction, persona
from config.api.errors import NotFound


def restore(row: Instruction | Persona, number: int) -> Instruction | Persona:
    """Restore a row's content from an earlier version. Raises NotFound.

    Stores a new version only if the content changes.
    """
    try:
        content = content_at(row.pk, number)
    except Version.DoesNotExist:
        raise NotFound("version not found") from None
    update = instruction.update if isinstance(row, Instruction) else persona.update
    return update(row.chatbot_id, row.pk, content)
