"""Hourly and daily counts stay correct when rows are added, changed, erased or pruned."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.ids import first_id_of, new_id
from config.durations import ONE_DAY, ONE_HOUR
from conversations.models import Activity, Lead, Message, Thread
from conversations.models.activity import DAY, HOUR
from conversations.models.message import SystemMessageType
from conversations.services import activity, erasure
from conversations.services.activity import day_of, hour_of
from tests.factories.accounts import UserFactory
from tests.factories.conversations import ThreadFactory
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure, "PAUSE", 0)


def id_at(moment: datetime) -> UUID:
    """Return an id that a row created at this time could have."""
    return UUID(int=first_id_of(moment).int | new_id().int & (1 << 62) - 1)


def said(thread: Thread, at: datetime, kind: str = "USER_MESSAGE", **columns: Any) -> Message:
    """Store a message as if it had been created at a given time."""
    thread.last_position += 1
    thread.save()
    row = Message(
        id=id_at(at), thread=thread, position=thread.last_position, message_type=kind, **columns
    )
    row.save()
    Message.objects.filter(pk=row.pk).update(created_at=at)
    return row


def sent(chatbot: Chatbot, at: datetime, state: str, **columns: Any) -> Delivery:
    """Store a delivery as if it had been created at a given time."""
    row: Delivery = DeliveryFactory(id=id_at(at), chatbot=chatbot, state=state, **columns)
    Delivery.objects.filter(pk=row.pk).update(created_at=at)
    return row


def run(*, last_run: timedelta = timedelta(minutes=5)) -> None:
    for _ in activity.count(timezone.now() - last_run):
        pass


def figures(chatbot: Chatbot, hours: int = HOUR) -> dict[datetime, Counter[str]]:
    """Return a chatbot's nonzero counts, keyed by the start of the hour or day."""
    names = Activity.CONVERSATIONS + Activity.DELIVERIES
    rows = Activity.objects.filter(chatbot=chatbot, hours=hours)
    return {row.begins_at: +Counter({name: getattr(row, name) for name in names}) for row in rows}


@pytest.fixture
def past() -> datetime:
    """A time two days ago, in the middle of an hour."""
    return day_of(timezone.now()) - 2 * ONE_DAY + timedelta(hours=9, minutes=30)


def test_an_hour_is_counted_by_chatbot(chatbot: Chatbot, past: datetime) -> None:
    thread = ThreadFactory(chatbot=chatbot)
    said(thread, past)
    said(thread, past, "AI_MESSAGE")
    said(thread, past, "AI_MESSAGE", fallback_reason="timeout")
    said(thread, past, "SYSTEM_MESSAGE")
    lead = Lead.objects.create(id=id_at(past), chatbot=chatbot, thread=thread)
    for state, number in (("PENDING", 1), ("RETRYING", 2), ("SUCCESS", 3), ("FAILED", 4)):
        for _ in range(number):
            sent(chatbot, past, state)
    sent(chatbot, past, "FAILED", is_test=True)
    other = ThreadFactory()
    said(other, past + ONE_HOUR)
    said(ThreadFactory(chatbot=chatbot), timezone.now())  # the current hour has no stored counts
    run()
    wanted = Counter(
        messages=3, ai_replies=2, fallbacks=1, leads=1, pending=1, retrying=2, success=3, failed=4
    )
    assert figures(chatbot) == {hour_of(past): wanted}
    assert figures(chatbot, DAY) == {day_of(past): wanted}
    assert figures(other.chatbot) == {hour_of(past) + ONE_HOUR: Counter(messages=1)}
    assert lead.pk


def test_the_first_answer_after_an_escalation_by_a_visitor_counts(
    chatbot: Chatbot, past: datetime
) -> None:
    agent = UserFactory()
    thread = ThreadFactory(chatbot=chatbot)
    escalated = {"system_message_type": SystemMessageType.CONVERSATION_ESCALATED}
    said(thread, past, "SYSTEM_MESSAGE", **escalated)
    said(thread, past)
    said(thread, past + timedelta(seconds=90), "AGENT_MESSAGE")
    said(thread, past + timedelta(seconds=95), "AGENT_MESSAGE")
    taken_over = ThreadFactory(chatbot=chatbot)
    said(taken_over, past, "SYSTEM_MESSAGE", agent=agent, **escalated)
    said(taken_over, past, "AGENT_MESSAGE")
    run()
    assert figures(chatbot)[hour_of(past)] == Counter(
        messages=4, escalations=1, answers=1, answer_seconds=90
    )


def test_erased_conversations_are_removed_from_the_figures(
    chatbot: Chatbot, past: datetime
) -> None:
    kept, erased = ThreadFactory(chatbot=chatbot), ThreadFactory(chatbot=chatbot)
    said(kept, past)
    said(erased, past)
    said(erased, past - 5 * ONE_DAY)
    Lead.objects.create(id=id_at(past), chatbot=chatbot, thread=erased)
    sent(chatbot, past, "FAILED")
    run()
    assert figures(chatbot)[hour_of(past)] == Counter(messages=2, leads=1, failed=1)
    said(kept, past + ONE_DAY)
    run()
    erasure.erase_thread(erased.pk)
    for _ in erasure.purge():
        pass
    Delivery.objects.all().delete()  # as if they had been pruned
    run()
    assert figures(chatbot) == {
        hour_of(past): Counter(messages=1, failed=1),
        hour_of(past - 5 * ONE_DAY): Counter(),
        hour_of(past + ONE_DAY): Counter(messages=1),
    }
    assert not Activity.objects.filter(stale_at__isnull=False)


def test_a_late_attempt_changes_the_figures_of_its_delivery(
    chatbot: Chatbot, past: datetime
) -> None:
    delivery = sent(chatbot, past, "FAILED")
    said(ThreadFactory(chatbot=chatbot), past + ONE_DAY)
    run()
    Delivery.objects.filter(pk=delivery.pk).update(state="SUCCESS")
    Attempt.objects.create(delivery=delivery, number=5, started_at=timezone.now())
    run()
    assert figures(chatbot)[hour_of(past)] == Counter(success=1)
    assert figures(chatbot, DAY)[day_of(past)] == Counter(success=1)
