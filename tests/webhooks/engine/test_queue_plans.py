"""The engine's statements use indexes, even if the statistics describe an empty queue."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction

from config.database.ids import new_id
from tests.factories.webhooks import DeliveryFactory
from webhooks.engine import queue
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2100, 1, 1, tzinfo=UTC)
WAITING = {"delivery_waiting", "delivery_running"}


@pytest.fixture
def stale(endpoint: Endpoint) -> Endpoint:
    """Update the statistics while no deliveries wait, and then add 2,000 waiting deliveries."""
    row = DeliveryFactory(chatbot=endpoint.chatbot)
    Delivery.objects.update(state="SUCCESS", due_at=None)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    Delivery.objects.bulk_create(
        DeliveryFactory.build(chatbot=row.chatbot, thread_id=new_id(), due_at=row.created_at)
        for _ in range(2_000)
    )
    return endpoint


def statements(endpoint: Endpoint) -> dict[str, tuple[str, tuple[Any, ...], set[str]]]:
    due, chatbots = queue.sql_time(NOW), [endpoint.chatbot_id]
    heads = (queue.ON_SERVER, (chatbots, due, 8))
    if settings.EMBEDDED:
        heads = (queue.EMBEDDED, (f'["{endpoint.chatbot_id.hex}"]', due, 8))
    window = (queue.sql_id(queue.BEFORE_ALL), 128, due)
    return {
        "glance": (queue.GLANCE, (), {"delivery_due", "delivery_newest"}),
        "window": (queue.WINDOW, window, WAITING),
        "due": (*heads, WAITING),
        "running": (queue.RUNNING, (2,), {"delivery_running"}),
    }


@pytest.mark.parametrize("name", ["glance", "window", "due", "running"])
def test_a_statement_uses_its_own_indexes_whatever_the_statistics(
    name: str, stale: Endpoint
) -> None:
    sql, params, expected = statements(stale)[name]
    explain = "EXPLAIN QUERY PLAN" if settings.EMBEDDED else "EXPLAIN"
    with transaction.atomic():
        if name != "glance":
            queue.keep_to_indexes()
        plan = "\n".join(str(row) for row in queue.rows(f"{explain} {sql}", *params))
    assert set(re.findall(r"delivery_[a-z]+", plan)) == expected, plan
