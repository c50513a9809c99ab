"""Ask the model for a reply, holding nothing while waiting, and store what came of it.

Open points: prompt, ai-failure, parallel-sends, escalated-reply.
"""

import logging
from typing import Any

from django.db import transaction

from chatbots.llm import client, prompt
from chatbots.llm.client import Model, Reply, ReplyFailed, Turn
from chatbots.llm.prompt import Briefing
from chatbots.models import LlmModel
from config.db import LONG, release_connection
from conversations import events
from conversations.access import lock_thread
from conversations.models import Draft, Message
from conversations.models.message import MessageType
from conversations.services import history

logger = logging.getLogger(__name__)

SPOKEN = [MessageType.USER_MESSAGE, MessageType.AI_MESSAGE, MessageType.AGENT_MESSAGE]


def turns(message: Message, briefing: Briefing) -> list[Turn]:
    """Write the conversation as the model reads it; it ends with the visitor's message."""
    earlier = Message.objects.filter(
        thread=message.thread_id, position__lt=message.position, message_type__in=SPOKEN
    ).newest_first()[: briefing.history_length]
    said = reversed(earlier.values_list("message_type", "content"))
    system = [Turn("system", briefing.system)] if briefing.system else []
    return [
        *system,
        *(
            Turn("user" if kind == MessageType.USER_MESSAGE else "assistant", content)
            for kind, content in said
        ),
        Turn("user", message.content),
    ]


def ask(message: Message, briefing: Briefing) -> Reply | None:
    """Ask the model; None where it fails, is late, or there is none."""
    if briefing.model is None:
        logger.error("no model is marked default: thread %s gets no reply", message.thread_id)
        return None
    conversation = turns(message, briefing)
    release_connection()
    try:
        return client.ask(
            Model(
                provider=briefing.model.provider,
                name=briefing.model.name,
                base_url=briefing.model.base_url,
                key_variable=briefing.model.key_variable,
            ),
            conversation,
            temperature=briefing.temperature,
            facts=briefing.facts,
        )
    except ReplyFailed as failure:
        logger.warning("no reply in thread %s: %s", message.thread_id, failure.reason)
        return None


def provenance(answer: Reply, briefing: Briefing) -> dict[str, Any]:
    """Say where a reply comes from; its model may have been deleted while it answered."""
    models = LlmModel.objects.select_for_update(no_key=True)
    model = models.filter(pk=briefing.model.pk).first() if briefing.model else None
    return {"source": answer.sources, "llm_model": model, "reply_ms": answer.ms}


def store(message: Message, words: str, answer: Reply | None, briefing: Briefing) -> Message | None:
    """Store a reply; without `answer` the words are the bot's fallback.

    Where a person has taken the thread over meanwhile, the model's answer becomes a draft.
    """
    with transaction.atomic():
        thread = lock_thread(message.thread_id)
        made_by = provenance(answer, briefing) if answer else {}
        if thread.escalated:
            if answer:
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
    words = answer.content[:LONG] if answer else briefing.fallback
    return store(message, words, answer, briefing) if words.strip() else None
