"""Create, change and activate instructions. A chatbot has at most one active instruction.

Every write locks the chatbot first, so two instructions are never activated at the same time. It
also locks the instructions that it changes, because the admin locks only instructions, not
the chatbot.
Open points: instruction-active, instruction-select.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from chatbots.access import lock_chatbot
from chatbots.models import Instruction
from config.api.errors import InvalidRequest, NotFound
from config.api.fields import REQUIRED
from config.database.row import save_changes

# With the chatbot, because the audit trail stores its account
LOCKED = Instruction.objects.select_for_update(of=("self",), no_key=True).select_related("chatbot")


def _deactivate_others(chatbot_id: UUID, instruction_id: UUID) -> None:
    active = LOCKED.filter(chatbot=chatbot_id, is_active=True)
    for other in active.exclude(pk=instruction_id):  # at most one
        save_changes(other, {"is_active": False})


def create(chatbot_id: UUID, given: Mapping[str, Any]) -> Instruction:
    """Create an instruction from column values. Raises ListFull.

    If it is active, the chatbot's other instructions are deactivated.
    """
    with transaction.atomic():
        Instruction.make_room(chatbot_id)
        row = Instruction(chatbot_id=chatbot_id, **given)
        if row.is_active:
            _deactivate_others(chatbot_id, row.pk)
        row.save(force_insert=True)
        return row


def update(chatbot_id: UUID, instruction_id: UUID, changes: Mapping[str, Any]) -> Instruction:
    """Change columns of an instruction. Raises NotFound.

    Activating an instruction deactivates the chatbot's other instructions.
    """
    with transaction.atomic():
        lock_chatbot(chatbot_id)
        row = LOCKED.filter(chatbot=chatbot_id, pk=instruction_id).first()
        if row is None:
            raise NotFound("instruction not found")
        if changes.get("is_active"):
            _deactivate_others(chatbot_id, row.pk)
        return row.change(changes)


def activate(chatbot_id: UUID, instruction_id: UUID) -> Instruction:
    """Activate an instruction and deactivate the chatbot's other instructions. Raises NotFound."""
    return update(chatbot_id, instruction_id, {"is_active": True})


def select_titled(chatbot_id: UUID, title: str, text: str) -> tuple[Instruction, bool]:
    """Activate the oldest instruction with this title, or create one with this text.

    Returns the instruction, and whether it was created. Creating it raises InvalidRequest if the
    title or text is blank, and ListFull if the chatbot has no room for another instruction.
    """
    with transaction.atomic():
        lock_chatbot(chatbot_id)
        found = Instruction.objects.filter(chatbot=chatbot_id, title=title).first()
        if found:
            return activate(chatbot_id, found.pk), False
        for name, value in (("title", title), ("instruction", text)):
            if not value.strip():
                raise InvalidRequest.at([name], REQUIRED)
        given = {"title": title, "instruction": text, "is_active": True}
        return create(chatbot_id, given), True
