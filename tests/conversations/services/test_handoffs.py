"""Handoff statistics count requests, answers, resolutions, and visitors who come back."""

from datetime import timedelta

from django.utils import timezone

from chatbots.models import Chatbot
from config.durations import ONE_HOUR
from conversations.models import Handoff, Thread
from conversations.services import agent_message, escalation, handoffs, threads
from conversations.services.handoffs import Outcomes
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import ThreadFactory, from_visitor


def outcomes(*chatbots: Chatbot) -> Outcomes:
    """Return these chatbots' statistics for the last hour."""
    return handoffs.outcomes(timezone.now() - ONE_HOUR, [one.pk for one in chatbots])


def asks_again(thread: Thread) -> None:
    """Store another message from the thread's visitor."""
    from_visitor(Thread.objects.get(pk=thread.pk), "Hello?")


def test_the_figures_count_what_became_of_the_requests(chatbot: Chatbot) -> None:
    agent, other = chatbot.account.owner, ChatbotFactory()
    open_, answered, done, back = (ThreadFactory(chatbot=chatbot) for _ in range(4))
    for thread in (open_, answered, done, back, ThreadFactory(chatbot=other)):
        escalation.toggle(thread.pk)
    Handoff.objects.update(asked_at=timezone.now() - timedelta(minutes=10))
    for thread in (answered, done, back):
        agent_message.answer(thread.pk, agent=agent, content="Here I am")
        agent_message.answer(thread.pk, agent=agent, content="Anything else?")
    for thread in (done, back):
        threads.update(thread.pk, {"resolved": True})
    asks_again(back)
    found = outcomes(chatbot)
    assert found.first_answer
    assert timedelta(minutes=10) <= found.first_answer < timedelta(minutes=11)
    counted = (found.asked, found.answered, found.resolved, found.came_back)
    assert counted == (4, 3, 2, 1)
    assert outcomes(chatbot, other).asked == 5
    assert handoffs.outcomes(timezone.now() - ONE_HOUR, None).asked == 5
    assert outcomes() == Outcomes(0, 0, None, 0, 0)


def test_a_request_whose_thread_returned_to_the_ai_stays_unanswered(chatbot: Chatbot) -> None:
    thread = ThreadFactory(chatbot=chatbot)
    for _ in range(3):  # ask for a person, return to the AI, ask again
        escalation.toggle(thread.pk)
    agent_message.answer(thread.pk, agent=chatbot.account.owner, content="Here I am")
    assert (outcomes(chatbot).asked, outcomes(chatbot).answered) == (2, 1)
    assert Handoff.objects.latest("asked_at", "pk").answered_at
