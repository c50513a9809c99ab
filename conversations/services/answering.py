"""Answer a visitor as a person."""

from uuid import UUID

from django.db import transaction

from accounts.models import User
from conversations import events
from conversations.access import lock_thread
from conversations.models import Draft, Message
from conversations.models.message import MessageType
from conversations.services import escalation, history


def answer(thread_id: UUID, *, agent: User, content: str) -> Message:
    """Store an agent's message; in AI mode the agent takes the thread over first.

    Raises ThreadNotFound, and ValueError for a blank message.
    """
    if not content.strip():
        raise ValueError("a message must hold more than white space")
    with transaction.atomic():
        thread = lock_thread(thread_id)
        if not thread.escalated:
            escalation.turn(thread, escalated=True)
        thread.taken_over_by = agent
        message = history.append(
            thread,
            MessageType.AGENT_MESSAGE,
            content,
            agent=agent,
            agent_name=agent.get_full_name(),
        )
        events.new_message(thread, message)
    return message


def discard_draft(draft: Draft) -> None:
    """Throw away a reply that came too late."""
    draft.delete()
