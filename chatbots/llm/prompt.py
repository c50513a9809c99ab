"""Build the system message for a model from a bot's settings. Open points: prompt, default-model.

`conversations.services.history.turns` adds the thread's messages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import FilteredRelation, Q, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject, Length

from chatbots.llm.exchange import Turn
from chatbots.models import Chatbot, GeneralSettings, Instruction, LlmModel, Persona
from chatbots.models.instruction import DEFAULT_CREATIVITY
from chatbots.models.llm_model import effective_column
from chatbots.models.version import VersionedRow, unused_version, use
from config.database.prepared import prepare

RowT = TypeVar("RowT", bound=VersionedRow)
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
PERSONA = "id", "version", "title", "description", "instructions", "creativity_level"
INSTRUCTION = "id", "version", "instruction", "creativity_level"
PARTS = {"generalsettings": OWN, "persona": PERSONA, "instruction": INSTRUCTION}


def known(*, chatbot: UUID) -> "QuerySet[Any, tuple[Any, ...]]":
    """Select a bot's model, and one row for each of its active personas, in the prompt's order.

    Each row repeats the bot's settings and its active instruction. `made` builds a row of each.
    """
    chosen = Subquery(GeneralSettings.objects.filter(chatbot=chatbot).values("llm_model"))
    model = LlmModel.objects.filter(pk=effective_column("id", chosen))
    rows: QuerySet[Any] = Chatbot.everything.filter(pk=chatbot).annotate(
        persona=FilteredRelation("personas", condition=Q(personas__is_active=True)),
        instruction=FilteredRelation("instructions", condition=Q(instructions__is_active=True)),
    )
    columns: list[Any] = [Subquery(model.values(found=JSONObject(**{n: n for n in MODEL})))]
    for part, names in PARTS.items():
        columns += [unused_version(part), *(f"{part}__{name}" for name in names)]
    return rows.order_by("persona__created_at", "persona__id").values_list(*columns)


KNOWN = prepare(known)

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
    rows = KNOWN.rows(chatbot=chatbot_id)
    model, *columns = rows[0]
    of_persona = slice(2 + len(OWN), -1 - len(INSTRUCTION))
    general = made(GeneralSettings, OWN, columns[: 1 + len(OWN)]) or GeneralSettings()
    instruction = made(Instruction, INSTRUCTION, columns[-1 - len(INSTRUCTION) :])
    found = (made(Persona, PERSONA, row[of_persona]) for row in rows)
    personas = [persona for persona in found if persona]
    texts = [row for row in (instruction, *personas) if row]
    return Briefing(
        model=answering(model),
        system=system_message(general.description, personas, instruction),
        facts=general.description,
        temperature=texts[0].creativity_level if texts else DEFAULT_CREATIVITY,
        history_length=min(general.history_message_context, HISTORY_MESSAGES),
        fallback=general.fallback_message,
        settings=general,
        instruction=instruction,
        personas=personas,
        unused=[row.unused for row in (general, *texts) if row.unused],
    )


def made(model: type[RowT], names: Sequence[str], values: Sequence[Any]) -> RowT | None:
    """Build a row from its unused version and its columns, or return None if there is none."""
    unused, *columns = values
    if columns[0] is None:
        return None
    row = model(**dict(zip(names, columns, strict=True)))
    row.unused = unused
    return row


def answering(found: dict[str, Any] | None) -> LlmModel | None:
    """Build a model from its columns in JSON, or return None if the bot has no model to use."""
    if found is None:
        return None
    fields: Any = LlmModel._meta  # Any: the stubs know of fields that convert nothing
    return LlmModel(**{name: fields.get_field(name).to_python(found[name]) for name in MODEL})


def lasting_briefing(chatbot_id: UUID) -> Briefing:
    """Read the settings that a bot's model needs, and mark their versions as used by a reply.

    Used versions are never pruned. If a version is pruned before it can be marked, a newer version
    has replaced it, so the settings are read again. Call this outside any transaction.
    """
    known = briefing(chatbot_id)
    while known.unused and not use(known.unused):
        known = briefing(chatbot_id)
    return known
