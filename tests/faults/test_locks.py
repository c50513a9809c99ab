"""If another PostgreSQL session keeps rows locked, only work on those rows has to wait.

This happens, for example, when a transaction is left open by mistake.
"""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone

from accounts import mail_queue
from accounts.models import Mail
from config.database.ids import new_id
from config.models import PeriodicWork
from conversations.models import OwedReply
from conversations.services import owed_reply
from tests.factories.accounts import AccountFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.locks import locked
from tests.servers.processes import wait_until
from tests.webhooks.engine.steps import ME, claimed_ids
from webhooks.engine import recovery, schedule
from webhooks.engine.post import Outcome
from webhooks.engine.work import Result, Target, Work
from webhooks.models import Attempt, Delivery, Endpoint

pytestmark = [
    pytest.mark.proves("Delivery rules"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has no row locks"),
]
BROKEN, TAKEN = Result(outcome=Outcome(1, 503)), Result(outcome=Outcome(1, 200))


def made_mail(**fields: Any) -> Mail:
    return Mail.objects.create(
        account=AccountFactory(), to="kim@example.com", subject="A", body="B", **fields
    )


def owed(endpoint: Endpoint) -> OwedReply:
    message = MessageFactory(thread=ThreadFactory(chatbot=endpoint.chatbot))
    past = timezone.now() - timedelta(seconds=1)
    return OwedReply.objects.create(message=message, claim=new_id(), claimed_until=past)


def work(endpoint: Endpoint) -> PeriodicWork:
    name = str(PeriodicWork.objects.count())
    return PeriodicWork.objects.create(name=name, due_at=timezone.now())


# Maps each kind of work to a function that creates due work, and to one that claims it.
CLAIMS: dict[str, tuple[Callable[[Endpoint], Any], Callable[[], list[Any]]]] = {
    "deliveries": (
        lambda endpoint: DeliveryFactory(chatbot=endpoint.chatbot),
        claimed_ids,
    ),
    "emails": (lambda _: made_mail(), lambda: [UUID(pk) for pk, _ in mail_queue.claim(8)]),
    "replies": (owed, lambda: [pk for pk, _ in owed_reply.claim(most=8)]),
    "periodic work": (work, lambda: [name for name, _ in PeriodicWork.objects.claim()]),
}


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("kind", CLAIMS)
def test_locked_work_does_not_hold_up_the_claims_of_other_work(
    endpoint: Endpoint, kind: str
) -> None:
    make, claim_all = CLAIMS[kind]
    first, second = make(endpoint), make(endpoint)
    with locked(type(first)._base_manager.filter(pk=first.pk)):
        assert claim_all() == [second.pk]
    assert claim_all() == [first.pk]


def in_a_thread(call: Callable[..., object], *args: Any) -> threading.Thread:
    def run() -> None:
        try:
            call(*args)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def under_way(endpoint: Endpoint) -> Work:
    """Create a delivery whose attempt has started, and return the Work object for settling it."""
    token, now = new_id(), timezone.now()
    claimed = {"claim": token, "claimed_by": ME, "claimed_until": now + timedelta(seconds=8)}
    delivery = DeliveryFactory(chatbot=endpoint.chatbot, **claimed)
    attempt = Attempt.objects.create(delivery=delivery, number=1, started_at=now)
    target = Target(endpoint.url, "", is_active=True, has_add_on=True)
    return Work(delivery.pk, token, attempt.pk, endpoint.chatbot_id, 1, False, b"{}", target)


@pytest.mark.usefixtures("limits")
def test_a_locked_delivery_is_settled_when_it_is_unlocked_and_others_at_once(
    endpoint: Endpoint,
) -> None:
    works = [under_way(endpoint) for _ in range(20)]
    *held, free = (one.delivery_id for one in works)
    with locked(Delivery.objects.filter(pk__in=held)):
        threads = [in_a_thread(schedule.settle, one, TAKEN) for one in works]
        wait_until(lambda: Delivery.objects.get(pk=free).state == "SUCCESS", 10)
        assert not Delivery.objects.filter(pk__in=held, state="SUCCESS").exists()
    for thread in threads:
        thread.join()
    assert set(Delivery.objects.values_list("state", flat=True)) == {"SUCCESS"}


def test_two_workers_that_settle_the_same_endpoints_do_not_deadlock(endpoint: Endpoint) -> None:
    endpoints = EndpointFactory.create_batch(6)
    faults = []

    def settle(works: list[Work], together: threading.Barrier) -> None:
        together.wait(30)
        try:
            schedule._settle_all([(work, BROKEN) for work in works])
        except Exception as error:  # any error fails the test
            faults.append(error)

    for _ in range(5):
        together = threading.Barrier(2)
        orders = endpoints, endpoints[::-1]
        for thread in [in_a_thread(settle, [*map(under_way, one)], together) for one in orders]:
            thread.join(60)
    assert faults == []
    counts = Endpoint.objects.filter(pk__in=[one.pk for one in endpoints])
    assert set(counts.values_list("failures_in_a_row", flat=True)) == {10}


@pytest.mark.usefixtures("limits")
def test_a_locked_delivery_of_a_dead_worker_does_not_hold_up_the_others(
    endpoint: Endpoint,
) -> None:
    works = [under_way(endpoint) for _ in range(2)]
    Delivery.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    held, free = (Delivery.objects.filter(pk=one.delivery_id) for one in works)
    with locked(held):
        recovery.free_expired()
        assert (free.get().claim, free.get().interruptions) == (None, 1)
        assert held.get().claim
    recovery.free_expired()
    assert (held.get().claim, held.get().interruptions) == (None, 1)
