"""Staff are reminded of visitors who have waited too long, and idle threads return to the AI."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Account, Mail
from chatbots.models import Chatbot
from conversations.models import Message, Thread
from conversations.models.message import SystemMessageType
from conversations.services import agent_message, escalation, handoff_timeouts
from tests.factories.conversations import MessageFactory, ThreadFactory


@pytest.fixture
def shop(chatbot: Chatbot) -> Chatbot:
    Account.objects.update(remind_after_minutes=10, return_after_minutes=30)
    return chatbot


def waits(chatbot: Chatbot, *, minutes: int) -> Thread:
    """Create a thread whose visitor has been waiting for a person for this many minutes."""
    thread = ThreadFactory(chatbot=chatbot)
    MessageFactory(thread=thread)
    escalation.toggle(thread.pk)
    since = timezone.now() - timedelta(minutes=minutes)
    Thread.objects.filter(pk=thread.pk).update(waiting_since=since, updated_at=since)
    return thread


def test_staff_are_reminded_once_of_each_long_wait(shop: Chatbot) -> None:
    long, _ = waits(shop, minutes=11), waits(shop, minutes=9)
    seen = Thread.objects.get(pk=long.pk).updated_at
    assert [handoff_timeouts.remind(), handoff_timeouts.remind()] == [1, 0]
    [mail] = Mail.objects.exclude(subject__endswith="has asked for a person")
    assert mail.to == shop.account.owner.email
    assert "is still waiting for a person" in mail.subject
    assert str(long.pk) in mail.body
    assert Thread.objects.get(pk=long.pk).updated_at == seen
    agent_message.answer(long.pk, agent=shop.account.owner, content="Here I am")
    again = timezone.now() - timedelta(minutes=11)
    Thread.objects.filter(pk=long.pk).update(
        waiting_since=again, reminded_at=again - timedelta(minutes=1)
    )
    assert handoff_timeouts.remind() == 1


def test_no_reminder_is_sent_without_the_setting_or_outside_the_working_hours(
    shop: Chatbot,
) -> None:
    Account.objects.update(remind_after_minutes=None)
    waits(shop, minutes=60)
    assert handoff_timeouts.remind() == 0
    tomorrow = timezone.now() + timedelta(days=1)
    Account.objects.update(remind_after_minutes=10, working_hours=f"{tomorrow:%a} 00:00-23:59")
    assert handoff_timeouts.remind() == 0
    noon = f"Etc/GMT{timezone.now().hour - 12:+d}"  # a time zone where it is about noon now
    Account.objects.update(working_hours="Mon-Sun 00:00-23:59", time_zone=noon)
    assert handoff_timeouts.remind() == 1


def test_an_answered_conversation_that_is_idle_returns_to_the_ai(shop: Chatbot) -> None:
    silent, active, unanswered = (waits(shop, minutes=60) for _ in range(3))
    for thread in (silent, active):
        agent_message.answer(thread.pk, agent=shop.account.owner, content="Here I am")
    long_ago = timezone.now() - timedelta(minutes=31)
    Thread.objects.filter(pk__in=[silent.pk, unanswered.pk]).update(updated_at=long_ago)
    assert [handoff_timeouts.return_silent(), handoff_timeouts.return_silent()] == [1, 0]
    escalated = Thread.objects.filter(escalated=True).values_list("pk", flat=True)
    assert set(escalated) == {active.pk, unanswered.pk}
    last = Message.objects.filter(thread=silent).order_by("-position")[0]
    assert last.system_message_type == SystemMessageType.CONVERSATION_RETURNED_TO_AI
