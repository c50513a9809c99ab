"""Record the origin of an AI message, and rebuild its prompt byte for byte.

A prompt is built from the bot's texts and from earlier messages of the thread. Versions of texts
never change, and these messages are never edited. The origin therefore needs to store only which
versions and how many messages were used.
"""

from typing import Any
from uuid import UUID

from django.utils import timezone

from chatbots.llm.exchange import Reply, Turn
from chatbots.llm.prompt import Briefing, system_message
from chatbots.models import GeneralSettings, Instruction, LlmModel, Persona
from chatbots.models.version import content_at
from config.database.lengths import SHORT
from config.database.prepared import insert
from conversations.models import Message, ReplyOrigin, TokenUsage
from conversations.services import history


def record(message: Message, answer: Reply, briefing: Briefing) -> None:
    """Store a new AI message together with its origin."""
    model = last_asked(answer)
    # The `fallback_reason` of a fallback message already covers these failures.
    earlier = () if answer.failure else answer.failed
    instruction = briefing.instruction
    history_length = answer.turns_sent - 1 - bool(briefing.system)  # without the visitor's message
    insert(
        message,
        ReplyOrigin(
            message=message,
            model_id=model.pk if model else None,
            model_version=model.version if model else 0,
            settings_id=briefing.settings.pk,
            settings_version=briefing.settings.version,
            instruction_id=instruction.pk if instruction else None,
            instruction_version=instruction.version if instruction else 0,
            personas=[[str(persona.pk), persona.version] for persona in briefing.personas],
            temperature=answer.temperature,
            history_length=max(history_length, 0),  # negative if no model was asked
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            failed_before="; ".join(f"{one.model}: {one.reason}" for one in earlier)[:SHORT],
        ),
    )


def count_tokens(chatbot_id: UUID, answer: Reply) -> None:
    """Count a reply's tokens. Call this at the end of the transaction that stores the reply."""
    model = last_asked(answer)
    if model and answer.input_tokens is not None and answer.output_tokens is not None:
        TokenUsage.add(
            chatbot_id=chatbot_id,
            model_id=model.pk,
            day=timezone.now().date(),
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
        )


def last_asked(answer: Reply) -> LlmModel | None:
    """Return the model that replied or, for a fallback message, the last model that failed.

    Returns None if no model was asked, or if the model was deleted while it replied.
    """
    return answer.failed[-1].model if answer.failure and answer.failed else answer.model


def rebuild(reply: Message) -> list[Turn]:
    """Return the prompt of an AI message, as it was sent to the model.

    Raises ReplyOrigin.DoesNotExist for a message without an origin.
    """
    origin, question = ReplyOrigin.objects.get(message=reply), reply.parent_message
    assert question  # every reply with an origin answers a message
    general = GeneralSettings(**_content(origin.settings_id, origin.settings_version))
    personas = [Persona(**_content(*pair)) for pair in origin.personas]
    instruction = None
    if origin.instruction_id:
        instruction = Instruction(**_content(origin.instruction_id, origin.instruction_version))
    system = system_message(general.description, personas, instruction)
    return history.turns(question, system, origin.history_length)


def _content(row_id: Any, number: int) -> dict[str, Any]:
    content = content_at(row_id, number) if number else {}
    content.pop("llm_model", None)  # an id, but the constructor expects an LlmModel
    return content
