"""Staff are reminded of visitors who have waited too long, and idle threads return to the AI."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Account, Mail
from chatbots.models import Chatbot
from config.models import PeriodicWork
from conversations import tasks
from conversations.models import Message, Thread
from conversations.models.message import SystemMessageType
from conversations.services import agent_message, escalation, handoff_timeouts
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.staff import AGENTS, staff


@pytest.fixture
def shop(chatbot: Chatbot) -> Chatbot:
    staff(chatbot.account.owner, AGENTS)
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
    [mail] = Mail.objects.all()
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


def test_threads_that_are_not_due_do_not_delay_others(
    shop: Chatbot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handoff_timeouts, "BATCH", 1)
    patient = ChatbotFactory(account=AccountFactory(remind_after_minutes=600))
    closed = ChatbotFactory(account=AccountFactory(remind_after_minutes=10))
    yesterday = (timezone.now() - timedelta(days=1)).strftime("%a")
    Account.objects.filter(pk=closed.account_id).update(working_hours=f"{yesterday} 00:00-00:01")
    for chatbot in (patient, closed):
        waits(chatbot, minutes=300)
    waits(shop, minutes=11)
    assert handoff_timeouts.remind() == 1
    Account.objects.filter(pk=patient.account_id).update(return_after_minutes=600)
    Thread.objects.update(waiting_since=None, updated_at=timezone.now() - timedelta(minutes=60))
    Thread.objects.filter(chatbot=patient).update(updated_at=timezone.now() - timedelta(minutes=90))
    assert handoff_timeouts.return_silent() == 1


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


@pytest.mark.parametrize(("minutes", "words"), [(1, "1 minute."), (10, "10 minutes.")])
def test_a_reminder_says_how_long_the_visitor_has_waited(
    shop: Chatbot, minutes: int, words: str
) -> None:
    Account.objects.update(remind_after_minutes=minutes)
    waits(shop, minutes=60)
    handoff_timeouts.remind()
    assert f"has been waiting for an answer for more than {words}" in Mail.objects.get().body


def test_each_account_has_its_own_setting(shop: Chatbot) -> None:
    other = ChatbotFactory(account=AccountFactory(remind_after_minutes=60))
    mine, _ = waits(shop, minutes=30), waits(other, minutes=30)
    assert handoff_timeouts.remind() == 1
    assert Mail.objects.get().thread_id == mine.pk


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


@pytest.mark.parametrize("meanwhile", ["resolved", "archived"])
def test_a_thread_that_is_closed_before_it_is_locked_is_not_changed(
    shop: Chatbot, meanwhile: str
) -> None:
    waiting, answered = waits(shop, minutes=60), waits(shop, minutes=60)
    agent_message.answer(answered.pk, agent=shop.account.owner, content="Here I am")
    Thread.objects.update(updated_at=timezone.now() - timedelta(minutes=60))

    def before_the_lock(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if "conversations_visitor" in sql and not closed:
            closed.append(Thread.objects.all())
            closed[0].update(**{meanwhile: True})
        return execute(sql, *rest)

    for follow, thread in (
        (handoff_timeouts.remind, waiting),
        (handoff_timeouts.return_silent, answered),
    ):
        closed: list[Any] = []
        with connection.execute_wrapper(before_the_lock):
            assert follow() == 0
        assert closed, thread
        Thread.objects.update(**{meanwhile: False})


def test_a_conversation_stays_with_its_agent_without_the_setting(shop: Chatbot) -> None:
    Account.objects.update(return_after_minutes=None)
    thread = waits(shop, minutes=60)
    agent_message.answer(thread.pk, agent=shop.account.owner, content="Here I am")
    Thread.objects.update(updated_at=timezone.now() - timedelta(days=9))
    assert handoff_timeouts.return_silent() == 0


def test_the_periodic_work_follows_up_and_is_due_again(shop: Chatbot) -> None:
    waits(shop, minutes=60)
    PeriodicWork.objects.add([tasks.FOLLOW_UP])
    [(_, claim)] = PeriodicWork.objects.claim()
    tasks.follow_up_handoffs(claim)
    assert Mail.objects.count() == 1
    assert PeriodicWork.objects.get(name=tasks.FOLLOW_UP).due_at > timezone.now()
