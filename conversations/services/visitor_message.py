"""Accept a visitor's message within the limits, store it with its event, and get the reply.

Specification: Endpoints, Threads and messages; Limits. Open points: send-order, max-messages,
message-send, escalation-prompt, reply-owed.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import (
    Case,
    DateTimeField,
    Exists,
    F,
    OuterRef,
    QuerySet,
    TextField,
    UUIDField,
    When,
)
from django.utils import timezone

from accounts import quotas
from chatbots.models import FollowUpPrompt
from config.api import limits
from config.api.errors import Refused, TooManyRequests, Unavailable
from config.database.ids import new_id
from config.database.prepared import Given, Update, prepared, prepared_update, together
from conversations import events
from conversations.access import ThreadNotFound, given_thread, lock_thread, read_thread
from conversations.models import Message, Thread, Visitor
from conversations.models.message import MessageType
from conversations.services import ai_reply, escalation, history, owed_reply
from conversations.services.owed_reply import Claim

MINUTE = 60


class Incoming(NamedTuple):
    """A visitor's message, with the limits that apply to it and the state of its thread."""

    content: str
    thread_id: UUID
    account_id: UUID
    messages_per_minute: int
    ai_replies_per_minute: int
    escalated: bool
    escalates: bool  # whether the message is the text of an escalating follow-up prompt
    most_messages: int | None  # the bot's limit for one conversation

    @property
    def waits(self) -> bool:
        """Return whether the AI should reply, based on the state that `receive` read."""
        return not (self.escalated or self.escalates)


def known_before() -> "QuerySet[Thread, tuple[Any, ...]]":
    """Select all fields of Incoming except `content`, for a given thread and content."""
    plan, settings = "chatbot__account__plan__", "chatbot__generalsettings__"
    escalating = FollowUpPrompt.objects.filter(
        chatbot=OuterRef("chatbot"), esclate=True, button_message=Given("content", TextField())
    )
    limited = When(
        **{f"{settings}limit_messages_per_conversation": True},
        then=f"{settings}max_messages_per_conversation",
    )
    return given_thread().values_list(
        "pk",
        "chatbot__account",
        f"{plan}messages_per_minute",
        f"{plan}ai_replies_per_minute",
        "escalated",
        Exists(escalating),
        Case(limited),
    )


KNOWN_BEFORE = prepared(known_before)
COUNT_MESSAGE = prepared_update(
    lambda: Update(
        Visitor.objects.filter(pk=Given("visitor", UUIDField())),
        {"total_messages": F("total_messages") + 1, "last_seen_at": Given("now", DateTimeField())},
    )
)


@dataclass(frozen=True)
class Sent:
    """A visitor's message, the AI reply if there is one, and the resulting state of the thread."""

    messages: list[Message]
    thread: Thread


def receive(chatbot_id: UUID, thread_id: UUID, content: str) -> Incoming:
    """Read the limits and the thread's state for a visitor's message. Raises ThreadNotFound."""
    found = KNOWN_BEFORE.first(chatbot=chatbot_id, thread=thread_id, content=content)
    if found is None:
        raise ThreadNotFound
    return Incoming(content, *found)


def send(incoming: Incoming, *, message_id: UUID | None = None) -> Sent:
    """Send a visitor's message, and wait for the AI reply.

    With a `message_id`, a caller can safely repeat the call after the process that handled it has
    died. If the call raises TooManyRequests, MessagesLimitReached or Refused, nothing is stored or
    counted. Raises Unavailable if the message is stored but the reply is delayed, and
    ThreadNotFound if the thread was erased in the meantime.
    """
    begun = find(incoming, message_id)
    if begun:
        return resume(incoming, begun)
    account, waits = incoming.account_id, incoming.waits
    messages = (incoming.messages_per_minute, MINUTE)
    replies = (incoming.ai_replies_per_minute, MINUTE) if waits else None
    try:
        with limits.places.one(account) if waits else nullcontext():
            with limits.taken(
                ("messages", account, messages), ("replies", account, replies)
            ) as give_back:
                message, claim = store(incoming, message_id or new_id())
            if claim is None:  # a human agent answers in this thread
                give_back("replies")
                return Sent([message], message.thread)
            # `waits` is false here if the thread was returned to the AI after `receive` read its
            # state. In that case, no place has been reserved for the reply yet.
            with nullcontext() if waits else late_place(incoming):
                return exchange(message, ai_reply.answer(message, claim))
    except IntegrityError:  # this process was suspended, and a retry stored the message
        begun = find(incoming, message_id)
        if begun is None:
            raise
        return resume(incoming, begun)


def find(incoming: Incoming, message_id: UUID | None) -> Message | None:
    """Return the message that an earlier request stored under this id, or None."""
    if message_id is None:
        return None
    return Message.objects.filter(thread=incoming.thread_id, pk=message_id).first()


def resume(incoming: Incoming, message: Message) -> Sent:
    """Return a stored message with its reply, which is generated if it is owed.

    Raises Unavailable.
    """
    with late_place(incoming) if owed_reply.is_owed(message.pk) else nullcontext():
        return exchange(message, ai_reply.finish(message))


@contextmanager
def late_place(incoming: Incoming) -> Iterator[None]:
    """Reserve a place among the requests that wait for models, after the message has been stored.

    Raises Unavailable. TooManyRequests would be wrong here: it tells the caller that nothing was
    stored, so the caller would send the message again with a different id.
    """
    try:
        with limits.places.one(incoming.account_id):
            yield
    except TooManyRequests as refusal:
        raise Unavailable from refusal


def store(incoming: Incoming, message_id: UUID) -> tuple[Message, Claim | None]:
    """Store a message, its event and its owed reply in one transaction.

    The claim is None if the thread is escalated, or if this message escalates it. The monthly
    quota's row is locked last. Raises ThreadNotFound and MessagesLimitReached. Raises Refused if
    the conversation has reached its message limit.
    """
    with transaction.atomic():
        thread = lock_thread(incoming.thread_id)
        most = incoming.most_messages
        if most is not None and thread.visitor_messages_count >= most:
            raise Refused(f"this conversation is limited to {most} messages")
        with together():
            message = history.append(
                thread, MessageType.USER_MESSAGE, incoming.content, id=message_id
            )
            COUNT_MESSAGE.write(visitor=thread.visitor_id, now=timezone.now())
            events.new_message(thread, message)
            answered_by_ai = not (thread.escalated or incoming.escalates)
            claim = owed_reply.record(message) if answered_by_ai else None
        if incoming.escalates:
            escalation.request(thread)
        quotas.take_message(thread.chatbot.account)
    return message, claim


def exchange(message: Message, reply: Message | None) -> Sent:
    """Return a message with its reply, if any, and the resulting state of the thread."""
    if reply:
        return Sent([message, reply], reply.thread)
    return Sent([message], read_thread(message.thread_id))
