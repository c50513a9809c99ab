"""Ask the model for a reply, holding nothing while waiting, and store what came of it.

Open points: prompt, ai-failure, parallel-sends, escalated-reply.
"""

import logging
from typing import Any

from django.db import transaction
from django.db.models.functions import Length

from chatbots.llm import client, prompt
from chatbots.llm.client import Model, Reply, ReplyFailed, Turn
from chatbots.llm.prompt import HISTORY_CHARACTERS, Briefing
from chatbots.llm.turns import fitting
from chatbots.models import LlmModel
from chatbots.services.llm_model import note_failure
from config.db import LONG, SHORT, release_connection
from conversations import events
from conversations.access import lock_thread
from conversations.models import Draft, Message
from conversations.models.message import MessageType
from conversations.services import history

logger = logging.getLogger(__name__)

SPOKEN = [MessageType.USER_MESSAGE, MessageType.AI_MESSAGE, MessageType.AGENT_MESSAGE]


def turns(message: Message, briefing: Briefing) -> list[Turn]:
    """Write the conversation as the model reads it; it ends with the visitor's message.

    The sizes are read first, so that no more of a long history is loaded than the prompt holds.
    """
    earlier = Message.objects.filter(
        thread=message.thread_id,
        position__lt=message.position,
        message_type__in=SPOKEN,
        fallback_reason=None,
    ).newest_first()[: briefing.history_length]
    count = fitting(earlier.values_list(Length("content"), flat=True), HISTORY_CHARACTERS)
    said = reversed(earlier[:count].values_list("message_type", "content"))
    system = [Turn("system", briefing.system)] if briefing.system else []
    return [
        *system,
        *(
            Turn("user" if kind == MessageType.USER_MESSAGE else "assistant", content)
            for kind, content in said
        ),
        Turn("user", message.content),
    ]


def ask(message: Message, briefing: Briefing) -> Reply:
    """Ask the model; where it fails, is late, or there is none, the reply is the bot's fallback."""
    if briefing.model is None:
        logger.error("no model is marked default: thread %s gets no reply", message.thread_id)
        return Reply(briefing.fallback, failure="no model is marked default")
    conversation = turns(message, briefing)
    release_connection()
    try:
        return client.ask(
            Model(
                provider=briefing.model.provider,
                name=briefing.model.name,
                base_url=briefing.model.base_url,
                key_variable=briefing.model.key_variable,
                sends_temperature=briefing.model.sends_temperature,
            ),
            conversation,
            temperature=briefing.temperature,
            facts=briefing.facts,
        )
    except ReplyFailed as failure:
        logger.warning(
            "no reply in thread %s: bot %s, model %s (%s): %s",
            message.thread_id,
            message.thread.chatbot_id,
            briefing.model.pk,
            briefing.model.title,
            failure.reason,
        )
        return Reply(briefing.fallback, failure=failure.reason)


def provenance(answer: Reply, briefing: Briefing) -> dict[str, Any]:
    """Say where a reply comes from; its model may have been deleted while it answered."""
    if answer.failure:
        return {"fallback_reason": answer.failure[:SHORT]}
    models = LlmModel.objects.select_for_update(no_key=True)
    model = models.filter(pk=briefing.model.pk).first() if briefing.model else None
    return {"source": answer.sources, "llm_model": model, "reply_ms": answer.ms}


def store(message: Message, answer: Reply, briefing: Briefing) -> Message | None:
    """Store a reply. Where a person has taken the thread over meanwhile, it becomes a draft."""
    words = answer.content[:LONG]
    with transaction.atomic():
        thread = lock_thread(message.thread_id)
        made_by = provenance(answer, briefing)
        if thread.escalated:
            if not answer.failure:
                Draft.objects.create(message=message, content=words, **made_by)
            return None
        made = history.append(
            thread, MessageType.AI_MESSAGE, words, parent_message=message, **made_by
        )
        events.new_message(thread, made)
    return made


def reply(message: Message) -> Message | None:
    """Answer a visitor's message: the model's words, else the bot's fallback, else nothing.

    Call it outside any transaction. Specification: Endpoints, Threads and messages.
    """
    briefing = prompt.briefing(message.thread.chatbot_id)
    answer = ask(message, briefing)
    made = store(message, answer, briefing) if answer.content.strip() else None
    if answer.failure and briefing.model:
        note_failure(briefing.model, answer.failure)
    return made
