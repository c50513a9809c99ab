"""Successes raise the limit on an endpoint's attempts in flight, and timeouts halve it."""

from typing import Any

import pytest

from config.database.ids import new_id
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.behaviors import Behavior, stall
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import BROKEN, OK, begin, run
from webhooks.engine import health
from webhooks.models import Endpoint
from webhooks.models.endpoint import FIRST_LIMIT

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("trusting"),
    pytest.mark.proves("Delivery rules"),
]


@pytest.fixture
def endpoint(receiver: Receiver) -> Endpoint:
    """An endpoint to which no request has been sent yet."""
    return EndpointFactory(url=receiver.url("/hook"))


def limit() -> int:
    return int(Endpoint.objects.get().attempts_limit)


def queue(endpoint: Endpoint, count: int) -> None:
    for _ in range(count):
        DeliveryFactory(chatbot=endpoint.chatbot, thread_id=new_id())


def test_the_limit_grows_by_about_one_in_each_round(endpoint: Endpoint) -> None:
    queue(endpoint, 20)
    assert [run() for _ in range(6)] == [FIRST_LIMIT, 2, 3, 4, 5, 4]
    assert limit() == 6


@pytest.mark.parametrize(
    ("behavior", "before", "after"),
    [
        *((stall(), 8, 4), (stall(), 3, 1), (stall(), 1, 1)),
        *((BROKEN, 6, 6), (OK, health.MOST, health.MOST)),
    ],
)
def test_a_timeout_halves_the_limit_and_a_success_raises_it_up_to_a_bound(
    receiver: Receiver,
    endpoint: Endpoint,
    settings: Any,
    behavior: Behavior,
    before: int,
    after: int,
) -> None:
    settings.WEBHOOK_TIMEOUT = 0.5 if before > after or before == 1 else 60.0
    receiver.on("/hook", behavior)
    Endpoint.objects.update(attempts_limit=before)
    queue(endpoint, 1)
    run()
    assert limit() == after


def test_endpoints_that_timed_out_share_half_of_the_slots() -> None:
    slow = EndpointFactory.create_batch(24, timed_out=True)
    for one in slow:
        queue(one, 3)
    assert [len(begin()) for _ in range(2)] == [16, 0]
    [healthy] = EndpointFactory.create_batch(1, last_success_at=slow[0].created_at)
    queue(healthy, 1)
    assert [work.chatbot_id for work in begin()] == [healthy.chatbot_id]
