"""Ask the model for a reply, and store the reply, a draft or the bot's fallback message.

No transaction or pooled connection is held while waiting for the model.

Open points: prompt, ai-failure, parallel-sends, escalated-reply, reply-owed.
"""

import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import DatabaseError, IntegrityError, connection, transaction

from chatbots.llm import fallback, metrics, prompt
from chatbots.llm.exchange import AllFailed, Reply
from chatbots.llm.prompt import Briefing
from chatbots.models import LlmModel
from config.api.errors import Unavailable
from config.database.lengths import LONG, SHORT
from config.database.locks import TEMPORARY, is_lock_timeout
from config.database.prepared import insert, update_columns
from config.runtime.gate import waiting
from conversations import events
from conversations.access import lock_thread
from conversations.models import Draft, Message
from conversations.models.message import MessageType
from conversations.services import history, owed_reply, reply_origin
from conversations.services.owed_reply import Claim

STORED_WITHIN = 60.0  # seconds to keep trying to store a reply while the database does not respond
STORED_AGAIN = 0.5  # seconds between two attempts to store a reply
LONGER = 60.0  # seconds that a request waits for another process, in addition to LLM_TIMEOUT
LOOK = 0.25  # seconds between checks for a reply that another process is generating

GIVEN_UP = "every attempt to generate this reply failed"

logger = logging.getLogger(__name__)


class ClaimLost(Exception):
    """Raised if another process has claimed the reply or settled it."""


def ask(message: Message, briefing: Briefing) -> Reply:
    """Return a model's reply, or the bot's fallback if there is no model or every model fails.

    Call this outside any transaction, because it waits for the model.
    """
    if briefing.model is None:
        metrics.FAILURES.labels(metrics.NO_DEFAULT_MODEL).inc()
        logger.error("no reply in thread %s: no model is marked as the default", message.thread_id)
        return Reply(briefing.fallback, failure="no model is marked as the default")
    models = fallback.to_ask(briefing.model)
    built_in = all(model.provider == LlmModel.OFFLINE for model in models)
    earlier = 0 if built_in else briefing.history_length  # it reads only the visitor's message
    conversation = history.turns(message, briefing.system, earlier)
    try:
        return fallback.ask_in_turn(
            models, conversation, temperature=briefing.temperature, facts=briefing.facts
        )
    except AllFailed as failure:
        for failed in failure.failed:
            logger.warning(
                "no reply in thread %s: bot %s, model %s (%s): %s",
                message.thread_id,
                message.thread.chatbot_id,
                failed.model.pk,
                failed.model.title,
                failed.reason,
            )
        return Reply(
            briefing.fallback,
            failure=failure.reason,
            failed=failure.failed,
            turns_sent=len(conversation),
        )


def provenance(answer: Reply) -> dict[str, Any]:
    """Return a reply's columns: its fallback reason, or its sources, model and response time."""
    if answer.failure:
        return {"fallback_reason": answer.failure[:SHORT]}
    return {"source": answer.sources, "llm_model": answer.model, "reply_ms": answer.ms}


def store(message: Message, claim: Claim, answer: Reply, briefing: Briefing) -> Message | None:
    """Store a reply with its origin, or a draft if the thread was escalated in the meantime.

    Runs in its own transaction under the thread's lock. The model's row, which all accounts share,
    is locked only at commit, when the foreign key is checked. Returns None if no message was
    stored. Raises ClaimLost and ThreadNotFound. Raises IntegrityError if the model was deleted
    while it answered.
    """
    words, made_by = answer.content[:LONG], provenance(answer)
    with transaction.atomic():
        taken = history.take_position(message.thread) if words.strip() else None
        thread = taken or lock_thread(message.thread_id)
        if not owed_reply.settle(claim):
            raise ClaimLost
        if thread.escalated:
            if not answer.failure:
                insert(Draft(message=message, content=words, **made_by))
            return None
        if not words.strip():
            return None
        if not taken:  # the thread returned to the AI only just now
            history.advance(thread)
        made = history.new(thread, MessageType.AI_MESSAGE, words, parent_message=message, **made_by)
        reply_origin.record(made, answer, briefing)
        if answer.failure:
            thread.fallback_at = made.created_at
            update_columns(thread, ["fallback_at"])
        events.new_message(thread, made)
        reply_origin.count_tokens(thread.chatbot_id, answer)
    return made


def store_patiently(
    message: Message, claim: Claim, answer: Reply, briefing: Briefing
) -> Message | None:
    """Store a reply, and retry while a row is locked or the database does not respond.

    No connection is held between attempts. Raises ClaimLost and ThreadNotFound. Raises the database
    error once STORED_WITHIN has passed, or immediately in embedded mode.
    """
    deadline = time.monotonic() + STORED_WITHIN
    while True:
        try:
            return store(message, claim, answer, briefing)
        except IntegrityError:
            if answer.model is None or LlmModel.objects.filter(pk=answer.model.pk).exists():
                raise
            answer = replace(answer, model=None)  # the model was deleted while it was answering
        except TEMPORARY as error:
            if settings.EMBEDDED or time.monotonic() > deadline:
                raise
            told = "the reply to message %s is not stored yet: %s"
            logger.warning(told, message.pk, error)
            connection.close()
            with waiting():
                time.sleep(STORED_AGAIN)


def not_wanted(message: Message, claim: Claim) -> bool:
    """Settle the owed reply without a message if the thread is still escalated.

    Returns whether it was settled. Raises ClaimLost and ThreadNotFound.
    """
    with transaction.atomic():
        if not lock_thread(message.thread_id).escalated:
            return False
        if not owed_reply.settle(claim):
            raise ClaimLost
    return True


def reply(message: Message, claim: Claim) -> Message | None:
    """Answer a visitor's message with a model's reply or the bot's fallback message.

    Returns None if no message was stored. Call this outside any transaction. A reply that fails
    here stays owed and is retried. Raises ClaimLost and ThreadNotFound.
    Specification: Endpoints, Threads and messages.
    """
    try:
        with owed_reply.renewal.of(claim.token):
            if message.thread.escalated and not_wanted(message, claim):
                return None
            briefing = prompt.lasting_briefing(message.thread.chatbot_id)
            if claim.begun > owed_reply.MOST_TRIES:
                metrics.FAILURES.labels(metrics.TRIED_TOO_OFTEN).inc()
                answer = Reply(briefing.fallback, failure=GIVEN_UP)
            else:
                answer = ask(message, briefing)
            made = store_patiently(message, claim, answer, briefing)
    except Exception as error:
        with suppress(DatabaseError):  # if this fails, the lease expires on its own
            (owed_reply.postpone if is_lock_timeout(error) else owed_reply.retry_later)(claim)
        raise
    with suppress(DatabaseError):  # the reply is already stored
        fallback.note(answer)
    return made


def answer(message: Message, claim: Claim) -> Message | None:
    """Generate the AI reply. If the claim was lost, returns the other process's reply."""
    try:
        return reply(message, claim)
    except ClaimLost:
        return finish(message)


def finish(message: Message) -> Message | None:
    """Return the reply to a stored message, or None if there will be no reply.

    Generates the reply if it is owed and no other process has claimed it. If another process has
    claimed it, waits for that process, without holding a connection. Raises Unavailable if that
    takes too long.
    """
    deadline = time.monotonic() + settings.LLM_TIMEOUT + LONGER
    while time.monotonic() < deadline:
        if claim := owed_reply.take(message.pk):
            with suppress(ClaimLost):
                return reply(message, claim)
        if not owed_reply.is_owed(message.pk):
            return Message.objects.filter(parent_message=message).first()
        with waiting():
            time.sleep(LOOK)
    raise Unavailable
