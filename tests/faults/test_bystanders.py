"""What kills its worker every time takes nobody with it who was under way beside it."""

import pytest
from django.utils import timezone

from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.behaviours import answer
from tests.servers.processes import Worker, wait_until
from webhooks.models import Delivery

pytestmark = pytest.mark.proves("Delivery rules")


def test_a_slow_delivery_survives_what_kills_every_worker_beside_it(receiver, endpoint):
    slow = EndpointFactory(url=receiver.url("/slow"), last_success_at=timezone.now())
    receiver.on("/slow", answer(delay=3.0))
    receiver.on("/hook", answer(delay=0.5))
    bystander = DeliveryFactory(chatbot=slow.chatbot)
    poison = DeliveryFactory(chatbot=endpoint.chatbot)
    state_dir = None
    for _ in range(3):
        with Worker(crash_point="after-answer", state_dir=state_dir) as doomed:
            doomed.wait(60)
        state_dir = doomed.state_dir
    with Worker(state_dir=state_dir) as worker:
        wait_until(
            lambda: not Delivery.objects.filter(due_at__isnull=False).exists(), 60, told=worker.said
        )
    # whichever of the two answers first is the one that kills: the other one arrives
    ends = Delivery.objects.filter(pk__in=(bystander.pk, poison.pk)).values_list("state", flat=True)
    assert sorted(ends) == ["FAILED", "SUCCESS"]
