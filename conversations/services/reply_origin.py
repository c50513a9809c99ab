"""Build prompts, record the origin of an AI message, and rebuild its prompt byte for byte.

A prompt is a function of versions, which never change, and of the thread's earlier messages, which
are never edited. So the origin stores only references to both.
"""

from typing import Any
from uuid import UUID

from django.db.models import F, PositiveIntegerField, QuerySet, Sum, UUIDField, Window
from django.db.models.functions import Length
from django.utils import timezone

from chatbots.llm.exchange import Reply, Turn
from chatbots.llm.prompt import HISTORY_CHARACTERS, Briefing, system_message
from chatbots.models import GeneralSettings, Instruction, LlmModel, Persona
from chatbots.models.version import content_at
from config.database.lengths import SHORT
from config.database.prepared import Given, insert, prepared
from conversations.models import Message, ReplyOrigin, TokenUsage
from conversations.models.message import MessageType
from conversations.services import history

SPOKEN = [MessageType.USER_MESSAGE, MessageType.AI_MESSAGE, MessageType.AGENT_MESSAGE]


def heard(most: int) -> "QuerySet[Message, tuple[str, str]]":
    """Select at most `most` messages before a given position, newest first.

    Only the part of a long history that fits into the prompt is loaded.
    """
    spoken = Message.objects.filter(
        thread=Given("thread", UUIDField()),
        position__lt=Given("position", PositiveIntegerField()),
        message_type__in=SPOKEN,
        fallback_reason=None,
    )
    newest = Message.objects.filter(pk__in=history.newest_first(spoken)[:most].values("pk"))
    size = Window(Sum(Length("content")), order_by=F("position").desc())
    fitting = newest.annotate(size=size).filter(size__lte=HISTORY_CHARACTERS)
    return history.newest_first(fitting).values_list("message_type", "content")


HEARD = prepared(heard)


def turns(message: Message, system: str, history_length: int) -> list[Turn]:
    """Build the model's view of the conversation, ending with the visitor's message.

    It has at most `history_length` earlier messages.
    """
    said: list[tuple[str, str]] = []
    if history_length and message.position > 1:
        given = {"thread": message.thread_id, "position": message.position}
        said = HEARD.rows(history_length, **given)
    return [
        *([Turn("system", system)] if system else []),
        *(
            Turn("user" if kind == MessageType.USER_MESSAGE else "assistant", content)
            for kind, content in reversed(said)
        ),
        Turn("user", message.content),
    ]


def record(message: Message, answer: Reply, briefing: Briefing) -> None:
    """Store the origin of a new AI message, in the message's transaction."""
    model = last_asked(answer)
    earlier = () if answer.failure else answer.failed  # the reason of a fallback names all of them
    instruction = briefing.instruction
    history_length = answer.turns_sent - 1 - bool(briefing.system)  # without the question
    insert(
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
        )
    )


def count_tokens(chatbot_id: UUID, answer: Reply) -> None:
    """Count the tokens of a reply, at the end of the transaction that stores it."""
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
    """Return the model that replied or, for a fallback, the last one that failed.

    None if no model was asked, or if the model was deleted while it replied.
    """
    return answer.failed[-1].model if answer.failure and answer.failed else answer.model


def rebuild(reply: Message) -> list[Turn]:
    """Return the prompt that an AI message was the answer to.

    Raises ReplyOrigin.DoesNotExist for a message that is not an AI message.
    """
    origin, question = ReplyOrigin.objects.get(message=reply), reply.parent_message
    assert question  # a model's reply always has one
    general = GeneralSettings(**_content(origin.settings_id, origin.settings_version))
    personas = [Persona(**_content(*pair)) for pair in origin.personas]
    instruction = None
    if origin.instruction_id:
        instruction = Instruction(**_content(origin.instruction_id, origin.instruction_version))
    system = system_message(general.description, personas, instruction)
    return turns(question, system, origin.history_length)


def _content(row_id: Any, number: int) -> dict[str, Any]:
    content = content_at(row_id, number) if number else {}
    content.pop("llm_model", None)  # an id, not a row
    return content
