"""Hand conversations over to human agents, and return them to the AI.

`visitor_message` calls `request` if a message is the text of an escalating follow-up prompt.
`leads` calls it for a new lead if the lead settings require an escalation. The API calls `toggle`.

Specification: States and transitions, Thread.escalated. Open points: escalated-event, system-type.
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from chatbots.models.localization import system_text
from config.database.row import save_changes
from conversations import events, notifications
from conversations.access import lock_thread
from conversations.models import Message, Thread
from conversations.models.message import MessageType, SystemMessageType
from conversations.services import handoffs, history, timeline

TEXTS = {
    SystemMessageType.CONVERSATION_ESCALATED: "escalatedToHumanAgent",
    SystemMessageType.CONVERSATION_RETURNED_TO_AI: "returnedToAi",
}


def set_escalated(thread: Thread, *, escalated: bool, agent: User | None = None) -> Message:
    """Set `escalated` on a locked thread, and append a system message with the bot's text for it.

    `agent` is the person who takes the thread over, if any.
    """
    kind = (
        SystemMessageType.CONVERSATION_ESCALATED
        if escalated
        else SystemMessageType.CONVERSATION_RETURNED_TO_AI
    )
    changes = {
        "escalated": escalated,
        "taken_over_by": agent,
        "taken_over_at": timezone.now() if agent else None,
        "waiting_since": timezone.now() if escalated else None,
    }
    return history.append(
        thread,
        MessageType.SYSTEM_MESSAGE,
        system_text(thread.chatbot_id, TEXTS[kind]),
        changes=changes | (timeline.assigned(thread, agent, by=agent) if agent else {}),
        system_message_type=kind,
        agent=agent,  # not in the API; distinguishes a takeover from a visitor's request
    )


def taken_over(thread: Thread, agent: User) -> dict[str, Any]:
    """Return the new values of `taken_over_by` and `taken_over_at`.

    The time does not change if the agent has already taken the thread over.
    """
    begun = thread.taken_over_at if thread.taken_over_by_id == agent.pk else timezone.now()
    return {"taken_over_by": agent, "taken_over_at": begun}


def request(thread: Thread) -> Message | None:
    """Escalate a locked thread at its visitor's request, and store the event and the emails.

    Returns the system message, or None if the thread is already escalated.
    """
    if thread.escalated:
        return None
    message = set_escalated(thread, escalated=True)
    handoffs.asked(thread)
    events.escalated(thread)
    notifications.escalated(thread)
    return message


def toggle(thread_id: UUID, *, chatbot_id: UUID | None = None) -> tuple[Thread, Message]:
    """Toggle `escalated`. Escalating a thread counts as a request by its visitor.

    Raises ThreadNotFound if the thread does not exist or belongs to a different chatbot.
    """
    with transaction.atomic():
        thread = lock_thread(thread_id, chatbot_id=chatbot_id)
        message = request(thread) or set_escalated(thread, escalated=False)
    return thread, message


def take_over(thread_id: UUID, *, agent: User) -> Thread:
    """Assign a thread to an agent, and escalate it if it is in AI mode. Raises ThreadNotFound.

    Records no event, because the visitor did not ask for an agent.
    """
    with transaction.atomic():
        thread = lock_thread(thread_id)
        if thread.escalated:
            changes = taken_over(thread, agent) | timeline.assigned(thread, agent, by=agent)
            save_changes(thread, changes)
        else:
            set_escalated(thread, escalated=True, agent=agent)
    return thread


def return_to_ai(thread_id: UUID) -> Thread:
    """Return a thread to the AI, unless it is already in AI mode. Raises ThreadNotFound."""
    with transaction.atomic():
        thread = lock_thread(thread_id)
        if thread.escalated:
            set_escalated(thread, escalated=False)
    return thread
