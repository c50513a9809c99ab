"""The wire formats of an instruction. Responses do not contain the creativity level."""

from chatbots.models import Instruction
from chatbots.models.instruction import DEFAULT_CREATIVITY
from chatbots.serializers.base import like
from config.api.fields import Text
from config.api.serializers import Record, Shape


class InstructionRecord(Record):
    """A system instruction for a bot."""

    class Meta:
        model = Instruction
        fields = [
            "id",
            "chatbot_id",
            "title",
            "instruction",
            "deletable",
            "is_active",
            "created_at",
            "updated_at",
        ]


class InstructionInput(Shape):
    """A new instruction."""

    title = like(Instruction, "title")
    instruction = like(Instruction, "instruction")
    creativity_level = like(Instruction, "creativity_level", default=DEFAULT_CREATIVITY)
    deletable = like(Instruction, "deletable", default=True)
    is_active = like(
        Instruction,
        "is_active",
        default=False,
        help_text="If true, the instruction becomes the active one.",
    )


class InstructionChanges(Shape):
    """Changes to an instruction. Omitted fields keep their values."""

    title = like(Instruction, "title")
    instruction = like(Instruction, "instruction")
    creativity_level = like(Instruction, "creativity_level")
    deletable = like(Instruction, "deletable")
    is_active = like(
        Instruction, "is_active", help_text="If true, the instruction becomes the active one."
    )


class InstructionChoice(Shape):
    """The instruction to activate, identified by id or else by title. "" counts as absent."""

    example = {"title": "Support"}
    rule = {
        "anyOf": [
            {"type": "object", "required": [name], "properties": {name: {"type": "string"} | part}}
            for name, part in (
                ("instructionId", {"minLength": 1}),
                ("title", {"pattern": Text.PATTERN}),
            )
        ]
    }
    instruction_id = Text(required=False, help_text="If given, title and instruction are ignored.")
    title = like(
        Instruction,
        "title",
        required=False,
        help_text="The title of an existing instruction or of a new one.",
    )
    instruction = like(
        Instruction,
        "instruction",
        required=False,
        help_text="The text of a new instruction; required if no instruction has that title.",
    )
