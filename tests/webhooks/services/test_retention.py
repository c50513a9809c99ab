"""Old deliveries are deleted, unless they are still waiting."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from chatbots.models import Chatbot
from config.models import PeriodicWork
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks import tasks
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)
DAYS = timedelta(days=1)


@pytest.fixture
def chatbot() -> Chatbot:
    return EndpointFactory().chatbot


def made(chatbot: Chatbot, *, days: int, **fields: Any) -> Delivery:
    delivery = DeliveryFactory(chatbot=chatbot, **{"due_at": None, "state": "SUCCESS"} | fields)
    Attempt.objects.create(delivery=delivery, number=1, started_at=timezone.now())
    Delivery.objects.filter(pk=delivery.pk).update(created_at=timezone.now() - days * DAYS)
    return delivery


@pytest.mark.parametrize(
    ("fields", "stays"),
    [
        pytest.param({"days": 31}, False, id="old"),
        pytest.param({"days": 31, "state": "FAILED"}, False, id="old and failed"),
        pytest.param({"days": 29}, True, id="recent"),
        pytest.param({"days": 31, "state": "PENDING", "due_at": NOW}, True, id="waiting"),
        pytest.param({"days": 31, "state": "RETRYING"}, True, id="between attempts"),
        pytest.param({"days": 31, "state": "FAILED", "due_at": NOW}, True, id="being retried"),
    ],
)
def test_the_daily_pruning_deletes_old_finished_deliveries(
    chatbot: Chatbot, fields: dict[str, Any], stays: bool
) -> None:
    made(chatbot, **fields)
    PeriodicWork.objects.add([tasks.PRUNE])
    [(_, claim)] = PeriodicWork.objects.claim()
    tasks.prune(claim)
    assert (Delivery.objects.exists(), Attempt.objects.exists()) == (stays, stays)
    left = PeriodicWork.objects.get(name=tasks.PRUNE).due_at - timezone.now()
    assert timedelta(hours=23) < left <= DAYS
