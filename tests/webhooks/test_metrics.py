"""The queue's metrics are correct, and reading them is fast even if the queue is long."""

from datetime import timedelta

import pytest
from django.utils import timezone

from config.database.ids import new_id
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks import metrics
from webhooks.metrics import Backlog
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint() -> Endpoint:
    return EndpointFactory()


def add(endpoint: Endpoint, *, age: float, **columns: object) -> None:
    """Store a delivery that has been due for `age` seconds."""
    due_at = timezone.now() - timedelta(seconds=age)
    one = DeliveryFactory(chatbot=endpoint.chatbot, due_at=due_at, **columns)
    Delivery.objects.filter(pk=one.pk).update(created_at=due_at)


def test_an_empty_queue_has_no_age(endpoint: Endpoint) -> None:
    assert metrics.read() == Backlog(due=0, late=0, oldest_s=0.0, in_flight=0)


def test_due_late_and_running_deliveries_are_counted(endpoint: Endpoint) -> None:
    add(endpoint, age=500, state="SUCCESS", attempts_count=1)
    Delivery.objects.update(due_at=None)
    add(endpoint, age=90)
    add(endpoint, age=5)
    add(endpoint, age=120, state="RETRYING", attempts_count=1)
    add(endpoint, age=-60, state="RETRYING", attempts_count=1)
    add(endpoint, age=3, state="FAILED", attempts_count=4)
    add(endpoint, age=30, claim=new_id(), claimed_by="1", claimed_until=timezone.now())
    found = metrics.read()
    assert (found.due, found.late, found.in_flight) == (4, 2, 1)
    assert 120 <= found.oldest_s < 180
