"""The queue's metrics are correct, and reading them is fast even if the queue is long."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from config.database.ids import new_id
from tests.factories import bulk
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks import metrics
from webhooks.engine.queue import keep_to_indexes
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


@pytest.mark.parametrize("state", ["PENDING", "RETRYING"])
def test_the_oldest_delivery_of_several_endpoints_is_found(state: str) -> None:
    for age in (200, 20, 10):
        add(EndpointFactory(), age=age, state=state)
    found = metrics.read()
    assert (found.due, found.late) == (3, 1)
    assert 200 <= found.oldest_s < 260


@pytest.mark.parametrize("state", ["PENDING", "RETRYING", "SUCCESS"])
def test_a_long_queue_is_read_from_indexes(endpoint: Endpoint, state: str) -> None:
    due_at = None if state == "SUCCESS" else timezone.now()
    one = DeliveryFactory(chatbot=endpoint.chatbot, state=state, due_at=due_at)
    bulk.copy(one, 20_000, {"position": "s.n"})
    began = time.monotonic()
    found = metrics.read()
    assert time.monotonic() - began < 10  # in seconds; allows for a busy machine
    assert found.due == (0 if state == "SUCCESS" else 20_001)
    plans = [line for statement in statements() for line in plan(*statement)]
    assert plans
    scans = ("SCAN d", "Seq Scan on webhooks_delivery")
    assert not [one for one in plans if any(map(one.startswith, scans)) and "INDEX" not in one]


def statements() -> list[tuple[str, tuple[Any, ...]]]:
    """Return the SQL statements that metrics.read() runs on deliveries, with their parameters."""
    found = []

    def note(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        found.append((sql, tuple(parameters or ())))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(note):
        metrics.read()
    return [(sql, given) for sql, given in found if "webhooks_delivery" in sql]


def plan(sql: str, parameters: tuple[Any, ...]) -> list[str]:
    """Return a statement's query plan under the planner settings that metrics.read() uses."""
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        keep_to_indexes()
        cursor.execute(f"{explain} {sql}", parameters)
        return [str(row[-1]).strip(" ->") for row in cursor.fetchall()]
