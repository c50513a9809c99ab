"""The ledger check finds out whether messages, deliveries, attempts and counters are consistent.

It reports no gaps in intact data, and exactly the expected kind of gap for each kind of damage.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.models import Account
from chatbots.models import Chatbot
from config.database.ids import new_id
from config.models import PeriodicWork
from conversations import ledger, tasks
from conversations.models import LedgerCheck, Message, OwedReply, Thread, ThreadCount
from tests.conversations.conftest import Send
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers import certificates
from tests.servers.receiver import Receiver
from tests.webhooks.engine import steps
from webhooks.engine import attempt, schedule
from webhooks.models import Attempt, Delivery, Endpoint

pytestmark = pytest.mark.django_db(transaction=True)

NONE = timedelta(0)


@pytest.fixture
def endpoint(receiver: Receiver, chatbot: Chatbot, settings: Any) -> Endpoint:
    settings.WEBHOOK_CA_BUNDLE = certificates.ca_file()
    settings.WEBHOOK_TIMEOUT = 60.0
    return EndpointFactory(chatbot=chatbot, url=receiver.url("/hook"), attempts_limit=8)


@pytest.fixture
def exchanged(endpoint: Endpoint, send: Send) -> list[dict[str, Any]]:
    """Two messages and their replies, all four of which have been delivered to the endpoint."""
    made = [*send(), *send("And again")]
    while Delivery.objects.filter(state="PENDING").exists():
        steps.run()
    return made


def found(**options: Any) -> dict[str, int]:
    gaps: dict[str, ledger.Gaps] = {}
    for _ in ledger.check(gaps, **{"grace": NONE} | options):
        pass
    return {name: one.count for name, one in gaps.items() if one.count}


def first() -> QuerySet[Delivery]:
    """Return a queryset that contains only the first message's delivery."""
    return Delivery.objects.filter(pk=Delivery.objects.earliest("position").pk)


def attempts() -> QuerySet[Attempt]:
    return Attempt.objects.filter(delivery__in=first().values("pk"))


def lose_delivery() -> None:
    attempts().delete()
    first().delete()


def lose_message() -> None:
    Message.objects.filter(message_type="AI_MESSAGE", position=4).delete()
    Thread.objects.update(last_position=3)


def deliver_twice() -> None:
    one = Delivery.objects.earliest("position")
    DeliveryFactory(chatbot=one.chatbot, thread_id=one.thread_id, message_id=one.message_id)


def owe_again() -> None:
    OwedReply.objects.create(
        message=Message.objects.get(position=1), claim=new_id(), claimed_until=timezone.now()
    )


def renumber() -> None:
    attempts().update(number=2)


def refuse() -> None:
    attempts().update(response_code=500)


def leave_success() -> None:
    first().update(state="FAILED")


def never_due() -> None:
    one = Delivery.objects.earliest("position")
    DeliveryFactory(chatbot=one.chatbot, event="NEW_LEAD", due_at=None)


def never_end() -> None:
    one = Delivery.objects.earliest("position")
    Attempt.objects.create(delivery=one, number=2, started_at=timezone.now())


DAMAGE = {
    "message_without_delivery": lose_delivery,
    "delivery_without_message": lose_message,
    "message_delivered_twice": deliver_twice,
    "thread_counts": lambda: Thread.objects.update(visitor_messages_count=7),
    "chatbot_thread_count": lambda: ThreadCount.objects.update(threads=F("threads") + 1),
    "reply_owed_twice": owe_again,
    "attempts_missing": lambda: attempts().delete(),
    "attempts_misnumbered": renumber,
    "success_not_accepted": refuse,
    "state_contradicts_attempts": leave_success,
    "schedule_contradicts_state": never_due,
    "attempt_never_ended": never_end,
}


def test_no_gap_is_found_in_sound_data(exchanged: list[dict[str, Any]]) -> None:
    assert Attempt.objects.count() == 4
    assert found() == {}


@pytest.mark.parametrize("kind", [rule.name for rule in ledger.RULES])
def test_damage_is_reported(exchanged: list[dict[str, Any]], kind: str) -> None:
    DAMAGE[kind]()
    assert found() == {kind: 1}


def change_since() -> None:
    Endpoint.objects.update(updated_at=timezone.now())


def age_configuration(**age: int) -> None:
    """Make the account and the endpoint look as if they were last updated this long ago."""
    for model in (Account, Endpoint):
        model.objects.update(updated_at=timezone.now() - timedelta(**age))


def age() -> None:
    age_configuration(days=4)
    Message.objects.update(created_at=timezone.now() - timedelta(days=3))


def erase() -> None:
    """Create a later thread, and erase the first one.

    The later thread is needed, because the check ends at the last thread that is not erased.
    """
    erased = Thread.objects.get()
    ThreadFactory(chatbot=erased.chatbot)
    Thread.objects.filter(pk=erased.pk).update(erased_at=timezone.now())


@pytest.mark.parametrize(
    "change",
    [
        lambda: Endpoint.objects.update(is_active=False),
        lambda: Endpoint.objects.update(events=["NEW_LEAD"]),
        lambda: Endpoint.objects.all().delete(),
        change_since,
        age,
        erase,
    ],
    ids=["switched off", "not subscribed", "deleted", "changed since", "pruned", "erased"],
)
def test_a_missing_delivery_that_may_never_have_been_due_is_not_a_gap(
    exchanged: list[dict[str, Any]], change: Callable[[], object]
) -> None:
    lose_delivery()
    change()
    assert "message_without_delivery" not in found()


@pytest.mark.parametrize(("delays", "state"), [((600.0,), "RETRYING"), ((), "FAILED")])
def test_deliveries_in_flight_and_failed_ones_are_not_gaps(
    endpoint: Endpoint,
    receiver: Receiver,
    send: Send,
    settings: Any,
    delays: tuple[float, ...],
    state: str,
) -> None:
    settings.WEBHOOK_RETRY_DELAYS = delays
    receiver.on("/hook", steps.BROKEN)
    send()
    assert found() == {}
    works = steps.begin()
    assert found() == {}
    for work in works:
        schedule.settle(work, attempt.send(work))
    assert Delivery.objects.filter(state=state).count() == len(works) > 0
    assert found() == {}


def test_messages_within_the_grace_period_are_skipped(exchanged: list[dict[str, Any]]) -> None:
    lose_delivery()
    age_configuration(hours=1)
    assert found() == {"message_without_delivery": 1}
    assert found(grace=timedelta(minutes=5)) == {}


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[Thread]:
    """Four threads with wrong counters. Each thread is checked in a separate step."""
    monkeypatch.setattr(ledger, "TABLES", [replace(one, size=1) for one in ledger.TABLES])
    return [MessageFactory().thread for _ in range(4)]


def test_the_result_is_stored_and_the_next_check_is_due_in_a_day(
    threads: list[Thread], caplog: pytest.LogCaptureFixture
) -> None:
    PeriodicWork.objects.add([tasks.CHECK_LEDGER])
    [(_, claim)] = PeriodicWork.objects.claim()
    began = timezone.now()
    with caplog.at_level(logging.ERROR):
        tasks.check_ledger(claim)
    row = LedgerCheck.objects.get()
    assert set(row.gaps) == {rule.name for rule in ledger.RULES}
    assert {name: count for name, count in row.gaps.items() if count} == {"thread_counts": 4}
    assert row.finished_at is not None and row.finished_at >= began
    assert "thread_counts: 4" in caplog.text
    work = PeriodicWork.objects.get(name=tasks.CHECK_LEDGER)
    assert work.due_at > began + timedelta(hours=23)


def test_a_check_that_has_to_stop_resumes_where_it_stopped(threads: list[Thread]) -> None:
    assert not ledger.resume(lambda: True)
    row = LedgerCheck.objects.get()
    assert (row.found["thread_counts"], row.gaps, row.finished_at) == (1, {}, None)
    Thread.objects.filter(pk=min(thread.pk for thread in threads)).delete()  # already checked
    goes = 1
    while not ledger.resume(lambda: True):
        goes += 1
    assert goes > 4
    assert LedgerCheck.objects.get().gaps["thread_counts"] == 4
