"""Build the prompt of a model from a bot's settings. Open points: prompt, default-model."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, UUIDField

from chatbots.models import GeneralSettings, Instruction, LlmModel, Persona
from chatbots.models.instruction import DEFAULT_CREATIVITY
from chatbots.models.llm_model import effective, effective_column
from config.database.prepared import Given, prepared

CHATBOT: Any = Given("chatbot", UUIDField())  # Any: stands for a uuid
MODEL = (  # columns that asking a model needs
    "id",
    "provider",
    "title",
    "name",
    "base_url",
    "key_variable",
    "sends_temperature",
)
OWN = ("description", "history_message_context", "fallback_message")


def settings_of_chatbot() -> "QuerySet[GeneralSettings, tuple[Any, ...]]":
    """Read OWN, and MODEL of the model that answers."""
    model = (effective_column(column, "llm_model") for column in MODEL)
    return GeneralSettings.objects.filter(chatbot=CHATBOT).values_list(*OWN, *model)


SETTINGS = prepared(settings_of_chatbot)
PERSONAS = prepared(lambda: Persona.objects.filter(chatbot=CHATBOT, is_active=True))
INSTRUCTION = prepared(lambda: Instruction.objects.filter(chatbot=CHATBOT, is_active=True))

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
    known, model = general(chatbot_id)
    personas = PERSONAS.rows(chatbot=chatbot_id)
    instruction = INSTRUCTION.first(chatbot=chatbot_id)
    warmth = [row.creativity_level for row in (instruction, *personas) if row]
    return Briefing(
        model=model,
        system=system_message(known.description, personas, instruction),
        facts=known.description,
        temperature=warmth[0] if warmth else DEFAULT_CREATIVITY,
        history_length=min(known.history_message_context, HISTORY_MESSAGES),
        fallback=known.fallback_message,
    )


def general(chatbot_id: UUID) -> tuple[GeneralSettings, LlmModel | None]:
    """Read a bot's own settings, or the defaults, and the model that answers."""
    found = SETTINGS.first(chatbot=chatbot_id)
    if found is None:
        return GeneralSettings(), effective(None)
    own, model = found[: len(OWN)], found[len(OWN) :]
    chosen = LlmModel(**dict(zip(MODEL, model, strict=True))) if model[0] else None
    return GeneralSettings(**dict(zip(OWN, own, strict=True))), chosen
