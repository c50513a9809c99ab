"""Answer a visitor as a human agent."""

from uuid import UUID

from django.db import transaction
from django.db.models import Subquery

from accounts.models import User
from conversations import events
from conversations.access import lock_thread
from conversations.models import Draft, Message, Thread
from conversations.models.message import MessageType
from conversations.services import escalation, handoffs, history, timeline

ANSWERS_SHOWN = 10  # maximum number of other agents' answers to return


class AnsweredMeanwhile(Exception):
    """Raised if another agent has answered since the newest message that this agent has seen."""

    def __init__(self, answers: list[Message]) -> None:
        super().__init__("another agent has answered in the meantime")
        self.answers = answers


def answer(
    thread_id: UUID,
    *,
    agent: User,
    content: str,
    newest_seen: UUID | None = None,
    form_token: UUID | None = None,
    draft_id: UUID | None = None,
) -> Message:
    """Store an agent's message and record its event, in one transaction.

    The agent takes the thread over, even if another agent has already done so. `form_token` is
    stored with the message, so if the same form is sent again, the stored message is returned. The
    draft that the answer is based on is deleted. Raises ThreadNotFound, ValueError for a blank
    message, and AnsweredMeanwhile if another agent has answered since the message `newest_seen`.
    """
    if not content.strip():
        raise ValueError("a message must contain more than white space")
    with transaction.atomic():
        thread = lock_thread(thread_id)
        if form_token and (sent := thread.messages.filter(form_token=form_token).first()):
            return sent
        if newest_seen and (answers := _answers_since(thread, newest_seen, agent)):
            raise AnsweredMeanwhile(answers)
        if not thread.escalated:
            escalation.set_escalated(thread, escalated=True, agent=agent)
        message = history.append(
            thread,
            MessageType.AGENT_MESSAGE,
            content,
            changes=escalation.taken_over(thread, agent)
            | timeline.assigned(thread, agent, by=agent),
            agent=agent,
            agent_name=agent.get_full_name(),
            form_token=form_token,
        )
        handoffs.answered(thread)
        events.new_message(thread, message)
        if draft_id:
            Draft.objects.filter(pk=draft_id, message__thread=thread).delete()
    return message


def _answers_since(thread: Thread, newest_seen: UUID, agent: User) -> list[Message]:
    seen = thread.messages.filter(pk=newest_seen).values("position")
    later = thread.messages.filter(
        message_type=MessageType.AGENT_MESSAGE, position__gt=Subquery(seen)
    )
    return list(later.exclude(agent=agent).order_by("position")[:ANSWERS_SHOWN])


def discard_draft(draft: Draft) -> None:
    """Delete a model's reply that arrived after the thread had been escalated."""
    draft.delete()
