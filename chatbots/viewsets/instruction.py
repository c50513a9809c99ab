"""Instructions. Specification: Endpoints, Instructions."""

from typing import Any

from chatbots.models import Instruction
from chatbots.serializers.instruction import (
    InstructionChanges,
    InstructionChoice,
    InstructionInput,
    InstructionRecord,
)
from chatbots.services import instruction as instructions
from chatbots.viewsets.base import ChatbotViewSet
from config.api.operation import Answer, operation

CREATED = "instruction settings created successfully"
SELECTED = "instruction found and set as active"


class InstructionViewSet(ChatbotViewSet):
    """Create, change and select instructions."""

    model = Instruction
    part = "Instructions"

    @operation(
        body=InstructionInput,
        answer=InstructionRecord,
        message=CREATED,
        open_points=("instruction-active", "list-bounds"),
    )
    def create(self, given: dict[str, Any]) -> Instruction:
        """Create an instruction."""
        return instructions.create(self.chatbot.pk, given)

    @operation(
        body=InstructionChanges,
        partial=True,
        answer=InstructionRecord,
        message="instruction settings updated successfully",
        open_points=("instruction-active",),
    )
    def update(self, changes: dict[str, Any], instruction_id: str) -> Instruction:
        """Change an instruction.

        Omitted fields keep their values.
        """
        return instructions.update(self.chatbot.pk, self.key(instruction_id), changes)

    @operation(
        body=InstructionChoice,
        answer=InstructionRecord,
        message=SELECTED,
        open_points=("instruction-select", "instruction-active", "list-bounds"),
    )
    def select(self, given: dict[str, str]) -> Answer:
        """Activate an instruction by id or title, creating it if the title is new."""
        if key := given.get("instruction_id"):
            return Answer(instructions.activate(self.chatbot.pk, self.key(key)), SELECTED)
        title, text = given.get("title", ""), given.get("instruction", "")
        row, made = instructions.select_titled(self.chatbot.pk, title, text)
        return Answer(row, CREATED if made else SELECTED)
