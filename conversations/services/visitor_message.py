"""Accept a visitor's message: limits, quota, the message and its event, then the reply.

Specification: Endpoints, Threads and messages; Limits. Open points: send-order, max-messages,
message-send, escalation-prompt, reply-owed.
"""

from contextlib import nullcontext
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from accounts import quotas
from chatbots.models import FollowUpPrompt, GeneralSettings
from config.api import limits
from config.api.errors import Refused, TooManyRequests, Unavailable
from config.database.ids import new_id
from conversations import events
from conversations.access import lock_thread
from conversations.models import Message, Thread, Visitor
from conversations.models.message import MessageType
from conversations.services import ai_reply, escalation, history, owed_reply
from conversations.services.ai_reply import ClaimLost
from conversations.services.owed_reply import Claim

MINUTE = 60


def asks_for_a_person(thread: Thread, content: str) -> bool:
    """Return whether a message is the text of an escalating follow-up prompt."""
    return FollowUpPrompt.objects.filter(
        chatbot=thread.chatbot_id, esclate=True, button_message=content
    ).exists()


def check_length(thread: Thread) -> None:
    """Check the conversation's message limit. Raises Refused."""
    bound = (
        GeneralSettings.objects.filter(
            chatbot=thread.chatbot_id, limit_messages_per_conversation=True
        )
        .values_list("max_messages_per_conversation", flat=True)
        .first()
    )
    if bound is not None and thread.visitor_messages_count >= bound:
        raise Refused(f"this conversation is limited to {bound} messages")


def store(
    thread_id: UUID, content: str, *, escalates: bool, message_id: UUID
) -> tuple[Message, Claim | None]:
    """Store a message, its event and its owed reply in one transaction.

    The claim is None if an agent answers in the thread. The quota's row is locked last.
    """
    with transaction.atomic():
        thread = lock_thread(thread_id)
        check_length(thread)
        message = history.append(thread, MessageType.USER_MESSAGE, content, id=message_id)
        Visitor.objects.filter(pk=thread.visitor_id).update(
            total_messages=F("total_messages") + 1, last_seen_at=timezone.now()
        )
        events.new_message(thread, message)
        if escalates:
            escalation.request(thread)
        claim = None if thread.escalated else owed_reply.record(message)
        quotas.take_message(thread.chatbot.account)
    return message, claim


def send(thread: Thread, content: str, *, message_id: UUID | None = None) -> list[Message]:
    """Send a visitor's message. Returns it, followed by the AI reply if there is one.

    With a `message_id` the call can be repeated after a process died: nothing is done twice.
    Raises TooManyRequests, MessagesLimitReached or Refused; in these cases nothing is stored or
    used up. Raises Unavailable if the message is stored but its reply has to wait.
    """
    begun = find(thread, message_id)
    if begun:
        return resume(thread, begun)
    escalates = asks_for_a_person(thread, content)
    waits = not (escalates or thread.escalated)
    try:
        with limits.places.one(thread.chatbot.account_id) if waits else nullcontext():
            return accept(thread, content, escalates=escalates, message_id=message_id or new_id())
    except IntegrityError:  # this process was suspended, and another one stored the message
        begun = find(thread, message_id)
        if begun is None:
            raise
        return resume(thread, begun)


def find(thread: Thread, message_id: UUID | None) -> Message | None:
    """Find the message of an earlier send with the same id; None without an id."""
    return Message.objects.filter(thread=thread, pk=message_id).first() if message_id else None


def resume(thread: Thread, message: Message) -> list[Message]:
    """Return a message stored earlier, with its reply. Raises Unavailable.

    Waiting for the reply takes a place like any other wait. TooManyRequests would tell the caller
    that nothing was stored, and the caller would send the message again under another id.
    """
    waits = owed_reply.is_owed(message.pk)
    try:
        with limits.places.one(thread.chatbot.account_id) if waits else nullcontext():
            return exchange(message, ai_reply.finish(message))
    except TooManyRequests as refusal:
        raise Unavailable from refusal


def accept(thread: Thread, content: str, *, escalates: bool, message_id: UUID) -> list[Message]:
    """Count and store a message, then let the AI reply. Returns the same list as `send`."""
    account, name = thread.chatbot.account, message_id
    messages = (account.plan.messages_per_minute, MINUTE)
    replies = (account.plan.ai_replies_per_minute, MINUTE)
    with limits.taken("messages", account.pk, messages):
        if escalates or thread.escalated:  # the AI may get it back before it is stored
            message, claim = store(thread.pk, content, escalates=escalates, message_id=name)
        else:
            with limits.taken("replies", account.pk, replies) as give_back:
                message, claim = store(thread.pk, content, escalates=False, message_id=name)
            if claim is None:  # the thread was escalated before the message was stored
                give_back()
    if claim is None:
        return [message]
    return exchange(message, answer(message, claim))


def answer(message: Message, claim: Claim) -> Message | None:
    """Let the AI reply. If this process lost its claim, return the other process's reply."""
    try:
        return ai_reply.reply(message, claim)
    except ClaimLost:
        return ai_reply.finish(message)


def exchange(message: Message, reply: Message | None) -> list[Message]:
    """Return a message, followed by its reply if there is one."""
    return [message, reply] if reply else [message]
