"""Answer a visitor as a human agent."""

from uuid import UUID

from django.db import transaction

from accounts.models import User
from conversations import events
from conversations.access import lock_thread
from conversations.models import Draft, Message
from conversations.models.message import MessageType
from conversations.services import escalation, history


def answer(
    thread_id: UUID,
    *,
    agent: User,
    content: str,
    form_token: UUID | None = None,
    draft_id: UUID | None = None,
) -> Message:
    """Store an agent's message and record its event, in one transaction.

    In AI mode the agent takes the thread over first. A form's token is stored with its message:
    sending the form again returns the stored message. The draft that the answer was made from is
    deleted. Raises ThreadNotFound, and ValueError for a blank message.
    """
    if not content.strip():
        raise ValueError("a message must contain more than white space")
    with transaction.atomic():
        thread = lock_thread(thread_id)
        if form_token and (sent := thread.messages.filter(form_token=form_token).first()):
            return sent
        if not thread.escalated:
            escalation.set_escalated(thread, escalated=True, agent=agent)
        message = history.append(
            thread,
            MessageType.AGENT_MESSAGE,
            content,
            changes={"taken_over_by": agent},
            agent=agent,
            agent_name=agent.get_full_name(),
            form_token=form_token,
        )
        events.new_message(thread, message)
        if draft_id:
            Draft.objects.filter(pk=draft_id, message__thread=thread).delete()
    return message


def discard_draft(draft: Draft) -> None:
    """Delete a reply that came too late."""
    draft.delete()
