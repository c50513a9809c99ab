"""Manual retries of deliveries."""

from datetime import timedelta
from typing import Any

import pytest

from chatbots.models import Chatbot
from config.database.ids import new_id
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.models import Delivery
from webhooks.services.retry import retry, retry_slowly

pytestmark = [pytest.mark.django_db, pytest.mark.proves("Delivery rules")]


@pytest.fixture
def chatbot() -> Chatbot:
    return EndpointFactory().chatbot


def failed(chatbot: Chatbot, **fields: Any) -> Delivery:
    return DeliveryFactory(chatbot=chatbot, **{"state": "FAILED", "due_at": None} | fields)


def test_only_failed_deliveries_are_retried_and_their_number_is_returned(chatbot: Chatbot) -> None:
    failed(chatbot)
    for state in ("PENDING", "RETRYING", "SUCCESS"):
        failed(chatbot, state=state)
    assert retry(Delivery.objects.all(), by="Kim") == 1
    assert Delivery.objects.get(due_at__isnull=False).retried_by == "Kim"
    assert retry(Delivery.objects.all(), by="Kim") == 0


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


def test_a_bulk_retry_skips_test_dispatches(chatbot: Chatbot) -> None:
    sample, event = failed(chatbot, is_test=True), failed(chatbot)
    assert sum(retry_slowly(Delivery.objects.all(), by="Kim")) == 1
    assert Delivery.objects.get(due_at__isnull=False) == event
    assert retry(Delivery.objects.filter(pk=sample.pk), by="Kim") == 1
