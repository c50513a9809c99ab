"""Build the system message for a model from a bot's settings. Open points: prompt, default-model.

`conversations.services.history.turns` adds the thread's messages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import QuerySet, Subquery, Sum, UUIDField
from django.db.models.functions import Length

from chatbots.llm.exchange import Turn
from chatbots.models import GeneralSettings, Instruction, LlmModel, Persona
from chatbots.models.instruction import DEFAULT_CREATIVITY
from chatbots.models.llm_model import effective_column
from chatbots.models.version import VersionedRow, unused_version, use
from config.database.prepared import Given, prepared

RowT = TypeVar("RowT", bound=VersionedRow)
CHATBOT: Any = Given("chatbot", UUIDField())  # Any: passed where a UUID is expected
MODEL = (  # the columns needed to call a model
    "id",
    "version",
    "provider",
    "title",
    "name",
    "base_url",
    "key_variable",
    "sends_temperature",
    "next_model_id",
    "failures_in_a_row",
)
OWN = ("id", "version", "description", "history_message_context", "fallback_message")
# The name of the annotation that `with_unused` adds
UNUSED = "unused"


def with_unused(rows: "QuerySet[RowT]") -> "QuerySet[RowT]":
    """Annotate each row with its current version's id, or NULL if a reply has used the version."""
    annotated: QuerySet[RowT] = rows.annotate(**{UNUSED: unused_version()})
    return annotated


def settings_of_chatbot() -> "QuerySet[LlmModel, tuple[Any, ...]]":
    """Select the MODEL columns of the bot's model and the OWN columns of the bot's settings.

    Selects nothing if the bot has no model to use. The query selects from the models, with one
    subquery per OWN column. Selecting from the settings would take two subqueries per MODEL column.
    """
    own = with_unused(GeneralSettings.objects.filter(chatbot=CHATBOT))
    answering = LlmModel.objects.filter(
        pk=effective_column("id", Subquery(own.values("llm_model")))
    )
    columns = (Subquery(own.values(column)) for column in (*OWN, UNUSED))
    return answering.order_by().values_list(*MODEL, *columns)


SETTINGS = prepared(settings_of_chatbot)
PERSONAS = prepared(lambda: with_unused(Persona.objects.filter(chatbot=CHATBOT, is_active=True)))
INSTRUCTION = prepared(
    lambda: with_unused(Instruction.objects.filter(chatbot=CHATBOT, is_active=True))
)

LONG_SYSTEM = 100_000  # in characters; many models reject a longer system message
# Upper bounds for the earlier messages in a prompt, regardless of the bot's settings
HISTORY_MESSAGES = 100
HISTORY_CHARACTERS = 60_000


@dataclass(frozen=True)
class Briefing:
    """What a model needs to know about a bot, and the message to use if the model fails."""

    model: LlmModel | None
    system: str
    facts: str  # the part of `system` that may be shown to visitors
    temperature: float
    history_length: int  # the maximum number of messages before the visitor's message
    fallback: str
    # The rows that `system` was built from, as they were at that time
    settings: GeneralSettings
    instruction: Instruction | None
    personas: Sequence[Persona]
    unused: list[UUID]  # ids of the versions of these rows that no reply has used yet


def system_message(
    description: str, personas: list[Persona], instruction: Instruction | None
) -> str:
    """Join the description, the personas and the instruction into the system message."""
    parts = [description]
    for persona in personas:
        parts += [persona.title, persona.description or "", persona.instructions]
    parts.append(instruction.instruction if instruction else "")
    return "\n\n".join(part for part in parts if part.strip())


def fitting(said: Sequence[Turn], most: int) -> Sequence[Turn]:
    """Return the newest turns, limited to `most` turns and HISTORY_CHARACTERS characters in total.

    A turn that would exceed a limit is left out rather than shortened, as are all earlier turns.
    """
    newest = list(reversed(said))[:most]
    sizes = accumulate(len(turn.content) for turn in newest)
    count = sum(size <= HISTORY_CHARACTERS for size in sizes)
    return said[len(said) - count :]


def system_length(chatbot_id: UUID) -> int:
    """Return the approximate length of a bot's system message, without reading its texts."""
    own = {"chatbot": chatbot_id}
    parts: tuple[tuple[Any, tuple[str, ...]], ...] = (  # Any: querysets of different models
        (GeneralSettings.objects.filter(**own), ("description",)),
        (Persona.objects.filter(**own, is_active=True), ("title", "description", "instructions")),
        (Instruction.objects.filter(**own, is_active=True), ("instruction",)),
    )
    sums = [
        rows.aggregate(**{name: Sum(Length(name), default=0) for name in names})
        for rows, names in parts
    ]
    return sum(length for found in sums for length in found.values())


def briefing(chatbot_id: UUID) -> Briefing:
    """Read the settings that a bot's model needs."""
    known, model = general(chatbot_id)
    personas = PERSONAS.rows(chatbot=chatbot_id)
    instruction = INSTRUCTION.first(chatbot=chatbot_id)
    texts = [row for row in (instruction, *personas) if row]
    return Briefing(
        model=model,
        system=system_message(known.description, personas, instruction),
        facts=known.description,
        temperature=texts[0].creativity_level if texts else DEFAULT_CREATIVITY,
        history_length=min(known.history_message_context, HISTORY_MESSAGES),
        fallback=known.fallback_message,
        settings=known,
        instruction=instruction,
        personas=personas,
        unused=[row.unused for row in (known, *texts) if row.unused],
    )


def lasting_briefing(chatbot_id: UUID) -> Briefing:
    """Read the settings that a bot's model needs, and mark their versions as used by a reply.

    Used versions are never pruned. If a version is pruned before it can be marked, a newer version
    has replaced it, so the settings are read again. Call this outside any transaction.
    """
    known = briefing(chatbot_id)
    while known.unused and not use(known.unused):
        known = briefing(chatbot_id)
    return known


def general(chatbot_id: UUID) -> tuple[GeneralSettings, LlmModel | None]:
    """Read a bot's settings and its model. If the bot has no settings, returns the defaults."""
    found = SETTINGS.first(chatbot=chatbot_id)
    if found is None:
        rows = with_unused(GeneralSettings.objects.filter(chatbot=chatbot_id))
        return rows.first() or GeneralSettings(), None
    model, (*own, unused) = found[: len(MODEL)], found[len(MODEL) :]
    chosen = LlmModel(**dict(zip(MODEL, model, strict=True)))
    if own[0] is None:
        return GeneralSettings(), chosen
    known = GeneralSettings(**dict(zip(OWN, own, strict=True)))
    known.unused = unused
    return known, chosen
