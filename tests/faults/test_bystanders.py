"""A delivery that kills its worker every time does not make concurrent deliveries fail."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.behaviors import Arrival, Step, answer, stall
from tests.servers.processes import Worker, wait_until
from tests.servers.receiver import Receiver
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.proves("Delivery rules")
BESIDE = 10


class Poison:
    """A behavior of the receiver: when a request arrives, kill the worker that sent it.

    The first two times, wait until the requests of all other deliveries have also arrived. After
    that, wait only half a second.
    """

    def __init__(self, receiver: Receiver) -> None:
        self.receiver, self.worker, self.deaths = receiver, None, 0

    def __call__(self, arrival: Arrival) -> Iterator[Step]:
        self.deaths += 1
        if self.deaths <= 2:
            self.receiver.wait_for(self.deaths * (BESIDE + 1))
        else:
            yield 0.5  # enough time for the worker to send its other deliveries
        self.worker.signal(signal.SIGKILL)


@pytest.mark.slow
def test_concurrent_deliveries_survive_one_that_kills_every_worker(
    receiver: Receiver, endpoint: Endpoint, settings: Any
) -> None:
    settings.WEBHOOK_TIMEOUT = 600.0  # no attempt times out
    poison, others = Poison(receiver), []
    receiver.on("/hook", poison)
    for number in range(BESIDE):
        path = f"/beside/{number}"
        receiver.on(path, stall(), stall(), answer(delay=1.0))
        beside = EndpointFactory(url=receiver.url(path), last_success_at=timezone.now())
        if number == BESIDE // 2:  # half of the other deliveries are older
            killer = DeliveryFactory(chatbot=endpoint.chatbot)
        others.append(DeliveryFactory(chatbot=beside.chatbot))
    state_dir = None
    for _ in range(3):
        with Worker(slots=32, state_dir=state_dir) as poison.worker:
            assert poison.worker.wait() == -signal.SIGKILL, poison.worker.said()
        state_dir = poison.worker.state_dir
    with Worker(slots=32, state_dir=state_dir) as worker:
        wait_until(lambda: not Delivery.objects.exclude(due_at=None).exists(), told=worker.said)
    ends = {pk: end for pk, *end in Delivery.objects.values_list("pk", "state", "interruptions")}
    assert ends.pop(killer.pk) == ["FAILED", 3]
    assert ends == {one.pk: ["SUCCESS", 2] for one in others}
