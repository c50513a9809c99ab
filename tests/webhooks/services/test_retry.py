"""Manual retries of deliveries."""

from datetime import timedelta
from typing import Any

import pytest

from chatbots.models import Chatbot
from config.database.ids import new_id
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.models import Delivery
from webhooks.services.retry import retry_slowly

pytestmark = [pytest.mark.django_db, pytest.mark.proves("Delivery rules")]


@pytest.fixture
def chatbot() -> Chatbot:
    return EndpointFactory().chatbot


def failed(chatbot: Chatbot, **fields: Any) -> Delivery:
    return DeliveryFactory(chatbot=chatbot, **{"state": "FAILED", "due_at": None} | fields)


def test_many_retries_are_spread_over_time_by_endpoint_in_the_order_of_their_events(
    chatbot: Chatbot,
) -> None:
    thread = new_id()
    mine = [failed(chatbot, thread_id=thread) for _ in range(25)]
    other = failed(EndpointFactory().chatbot)
    assert sum(retry_slowly(Delivery.objects.all(), by="Kim")) == 26
    due = [Delivery.objects.get(pk=each.pk).due_at for each in mine]
    assert due == sorted(due)
    assert due[-1] - due[0] == timedelta(seconds=2.4), "ten per second"
    beside = Delivery.objects.get(pk=other.pk).due_at - due[0]
    assert abs(beside) < timedelta(seconds=2), "the retries of each endpoint begin immediately"
