"""The limit of an endpoint's attempts in flight, which grows and halves with its answers."""

from typing import Any

import pytest

from config.database.ids import new_id
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.behaviours import stall
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import BROKEN, ME, OK, begin, run
from webhooks.engine import attempt, claims, health, schedule
from webhooks.models import Endpoint
from webhooks.models.endpoint import FIRST_LIMIT

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("trusting"),
    pytest.mark.proves("Delivery rules"),
]


@pytest.fixture
def endpoint(receiver: Receiver) -> Endpoint:
    """An endpoint that nothing is known about."""
    return EndpointFactory(url=receiver.url("/hook"))


def limit() -> int:
    return Endpoint.objects.get().attempts_limit


def queue(endpoint: Endpoint, count: int) -> None:
    for _ in range(count):
        DeliveryFactory(chatbot=endpoint.chatbot, thread_id=new_id())


def test_it_grows_by_one_with_each_answer_while_deliveries_wait(endpoint: Endpoint) -> None:
    queue(endpoint, 12)
    works = begin()
    assert len(works) == FIRST_LIMIT == limit()
    claims.claim(ME, slots=32)  # which finds it at its limit
    for work in works:
        schedule.settle(work, attempt.send(work))
    assert limit() > FIRST_LIMIT


def test_it_stays_where_nothing_waits_for_it(endpoint: Endpoint) -> None:
    for _ in range(5):
        queue(endpoint, 1)
        run()
    assert limit() == FIRST_LIMIT


def test_it_has_an_upper_bound(endpoint: Endpoint) -> None:
    Endpoint.objects.update(attempts_limit=health.MOST)
    queue(endpoint, 1)
    [work] = begin()
    claims.wants_more.add(endpoint.chatbot_id)
    schedule.settle(work, attempt.send(work))
    assert limit() == health.MOST


@pytest.mark.parametrize(("before", "after"), [(8, 4), (3, 1), (1, 1)])
def test_a_timeout_halves_it(
    receiver: Receiver, endpoint: Endpoint, settings: Any, before: int, after: int
) -> None:
    settings.WEBHOOK_TIMEOUT = 0.5
    receiver.on("/hook", stall())
    Endpoint.objects.update(attempts_limit=before)
    queue(endpoint, 1)
    run()
    assert limit() == after


def test_a_failure_other_than_a_timeout_leaves_it(receiver: Receiver, endpoint: Endpoint) -> None:
    receiver.on("/hook", BROKEN, OK)
    Endpoint.objects.update(attempts_limit=6)
    queue(endpoint, 1)
    run()
    assert limit() == 6


def test_endpoints_that_timed_out_have_half_of_the_slots_of_a_worker() -> None:
    slow = EndpointFactory.create_batch(24, timed_out=True)
    for one in slow:
        queue(one, 3)
    assert [len(begin()) for _ in range(2)] == [16, 0]
    [healthy] = EndpointFactory.create_batch(1, last_success_at=slow[0].created_at)
    queue(healthy, 1)
    assert [work.chatbot_id for work in begin()] == [healthy.chatbot_id]
