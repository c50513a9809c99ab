"""Accept a visitor's message within the limits, store it with its event, and get the reply.

Specification: Endpoints, Threads and messages; Limits. Open points: send-order, max-messages,
message-send, escalation-prompt, reply-owed.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, F, OuterRef, QuerySet, When
from django.utils import timezone

from accounts import quotas
from accounts.models import Account, Plan
from chatbots.models import Chatbot, FollowUpPrompt
from config.api import limits
from config.api.errors import Refused, TooManyRequests, Unavailable
from config.database.ids import new_id
from config.database.prepared import Update, columns_of, insert, prepare, row
from conversations import events
from conversations.access import ThreadNotFound, read_thread, thread_of
from conversations.models import Message, Thread, Visitor
from conversations.services import ai_reply, escalation, history, owed_reply
from conversations.services.owed_reply import Claim
from webhooks.models import Endpoint

MINUTE = 60


class Incoming(NamedTuple):
    """A visitor's message, and its thread with the chatbot, account, plan, endpoint and visitor.

    Only the columns in PARTS have been read, and nothing is locked.
    """

    content: str
    thread: Thread
    escalates: bool  # whether the message is the text of an escalating follow-up prompt
    most_messages: int | None  # the bot's limit for one conversation

    @property
    def account(self) -> Account:
        """Return the account that the message is counted for."""
        return self.thread.chatbot.account

    @property
    def waits(self) -> bool:
        """Return whether the AI should reply, based on the state that `receive` read."""
        return not (self.thread.escalated or self.escalates)


# The columns to read of a thread and its related rows
PARTS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "": (Thread, columns_of(Thread, "id", "chatbot_id", "visitor_id", "escalated")),
    "chatbot__": (Chatbot, columns_of(Chatbot, "id", "account_id", "name")),
    "chatbot__account__": (Account, columns_of(Account, "id", "plan_id", "webhooks_enabled")),
    "chatbot__account__plan__": (
        Plan,
        columns_of(Plan, "id", "monthly_messages", "messages_per_minute", "ai_replies_per_minute"),
    ),
    "chatbot__endpoint__": (Endpoint, columns_of(Endpoint, "id", "is_active", "events")),
    "visitor__": (Visitor, columns_of(Visitor, "id", "email", "phone")),
}


def known_before(
    *, chatbot: UUID, thread: UUID, content: str
) -> "QuerySet[Thread, tuple[Any, ...]]":
    """Select what `receive` needs to know of a thread before a message is stored."""
    settings = "chatbot__generalsettings__"
    escalating = FollowUpPrompt.objects.filter(
        chatbot=OuterRef("chatbot"), esclate=True, button_message=content
    )
    limited = When(
        **{f"{settings}limit_messages_per_conversation": True},
        then=f"{settings}max_messages_per_conversation",
    )
    columns = [f"{path}{name}" for path, (_, names) in PARTS.items() for name in names]
    rows = thread_of(chatbot=chatbot, thread=thread)
    return rows.values_list(Exists(escalating), Case(limited), *columns)


def counted_visitor(*, visitor: UUID, now: datetime) -> Update:
    """Add a message to a visitor's total."""
    return Update(
        Visitor.objects.filter(pk=visitor),
        {"total_messages": F("total_messages") + 1, "last_seen_at": now},
    )


KNOWN_BEFORE = prepare(known_before)
COUNT_MESSAGE = prepare(counted_visitor)


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
    escalates, most_messages, *columns = found
    values = iter(columns)
    thread, chatbot, account, plan, endpoint, visitor = (
        row(model, names, [*islice(values, len(names))]) for model, names in PARTS.values()
    )
    thread.chatbot, thread.visitor = chatbot, visitor
    chatbot.account, account.plan = account, plan
    chatbot.endpoint = endpoint  # if the chatbot has none, this one is not active
    return Incoming(content, thread, escalates, most_messages)


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
    account, plan, waits = incoming.account.pk, incoming.account.plan, incoming.waits
    messages = (plan.messages_per_minute, MINUTE)
    replies = (plan.ai_replies_per_minute, MINUTE) if waits else None
    try:
        with limits.places.part(account) if waits else nullcontext():
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
    return Message.objects.filter(thread=incoming.thread, pk=message_id).first()


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
        with limits.places.part(incoming.account.pk):
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
        message = history.new_from_visitor(incoming.thread, incoming.content, id=message_id)
        if message is None:
            raise ThreadNotFound
        thread, most = message.thread, incoming.most_messages
        if most is not None and thread.visitor_messages_count > most:
            raise Refused(f"this conversation is limited to {most} messages")
        claim = None
        if thread.escalated or incoming.escalates:
            insert(message)
        else:
            claim = owed_reply.record(message)
        COUNT_MESSAGE.run(visitor=thread.visitor_id, now=timezone.now())
        events.new_message(thread, message)
        if incoming.escalates:
            escalation.request(thread)
        quotas.take_message(thread.chatbot.account)
    return message, claim


def exchange(message: Message, reply: Message | None) -> Sent:
    """Return a message with its reply, if any, and the resulting state of the thread."""
    if reply:
        return Sent([message, reply], reply.thread)
    return Sent([message], read_thread(message.thread_id))
