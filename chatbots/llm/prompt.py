"""Build the prompt of a model from a bot's settings. Open points: prompt, default-model."""

from dataclasses import dataclass
from uuid import UUID

from chatbots.models import GeneralSettings, Instruction, LlmModel, Persona
from chatbots.models.instruction import DEFAULT_CREATIVITY
from chatbots.models.llm_model import effective

# Upper bounds for the earlier messages in a prompt, whatever the settings say
HISTORY_MESSAGES = 100
HISTORY_CHARACTERS = 60_000


@dataclass(frozen=True)
class Briefing:
    """What a model needs to know about a bot, and the fallback if the model fails."""

    model: LlmModel | None
    system: str
    facts: str  # the part of `system` that may be shown to visitors
    temperature: float
    history_length: int  # messages before the visitor's
    fallback: str


def system_message(
    description: str, personas: list[Persona], instruction: Instruction | None
) -> str:
    """Join the description, the personas and the instruction into the system message."""
    parts = [description]
    for persona in personas:
        parts += [persona.title, persona.description or "", persona.instructions]
    parts.append(instruction.instruction if instruction else "")
    return "\n\n".join(part for part in parts if part.strip())


def briefing(chatbot_id: UUID) -> Briefing:
    """Read the settings that a bot's model needs."""
    settings = (
        GeneralSettings.objects.filter(chatbot=chatbot_id).select_related("llm_model").first()
    )
    personas = list(Persona.objects.filter(chatbot=chatbot_id, is_active=True))
    instruction = Instruction.objects.filter(chatbot=chatbot_id, is_active=True).first()
    warmth = [row.creativity_level for row in (instruction, *personas) if row]
    known = settings or GeneralSettings()
    return Briefing(
        model=effective(known.llm_model),
        system=system_message(known.description, personas, instruction),
        facts=known.description,
        temperature=warmth[0] if warmth else DEFAULT_CREATIVITY,
        history_length=min(known.history_message_context, HISTORY_MESSAGES),
        fallback=known.fallback_message,
    )
