"""An agent's answer is held back if another agent has answered in the meantime."""

import pytest

from accounts.models import User
from conversations.models import Message, Thread
from conversations.models.message import MessageType
from conversations.services import agent_message
from tests.factories.accounts import UserFactory
from tests.factories.conversations import MessageFactory, from_visitor


@pytest.fixture
def agents(db: None) -> tuple[User, User]:
    return UserFactory(name="Kim"), UserFactory(name="Sam")


def answers(thread: Thread) -> list[str]:
    rows = Message.objects.filter(thread=thread, message_type=MessageType.AGENT_MESSAGE)
    return list(rows.order_by("position").values_list("content", flat=True))


def test_an_answer_is_not_held_back_by_the_agents_own_answer_or_a_visitors_message(
    thread: Thread, agents: tuple[User, User]
) -> None:
    kim, _ = agents
    seen = MessageFactory(thread=thread).pk
    agent_message.answer(thread.pk, agent=kim, content="Yes", newest_seen=seen)
    MessageFactory(thread=Thread.objects.get(pk=thread.pk))
    agent_message.answer(thread.pk, agent=kim, content="Of course", newest_seen=seen)
    assert answers(thread) == ["Yes", "Of course"]


def test_the_wait_ends_with_the_answer_and_begins_with_the_next_question(
    thread: Thread, agents: tuple[User, User]
) -> None:
    def waits() -> bool:
        return Thread.objects.filter(pk=thread.pk, waiting_since__isnull=False).exists()

    agent_message.answer(thread.pk, agent=agents[0], content="Yes")
    assert not waits()
    row = Thread.objects.get(pk=thread.pk)
    from_visitor(row, "And on Sundays?")
    assert waits()
    since = Thread.objects.get(pk=thread.pk).waiting_since
    from_visitor(row, "Hello?")
    assert Thread.objects.get(pk=thread.pk).waiting_since == since
