"""Helpers for delivery benchmarks: endpoints, events with realistic bodies, and statistics."""

import math
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from django.db import transaction
from django.utils import timezone

from config.database.ids import new_id
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.processes import wait_until
from tests.tools.bench.sink import Arrived, Sink
from webhooks import payloads
from webhooks.models import Delivery, Endpoint


def endpoints(sink: Sink, path: str, count: int, *, known: bool = True) -> list[Endpoint]:
    """Configure endpoints, each in its own account. If `known`, each has a recorded success."""
    since = timezone.now() if known else None
    urls = [sink.url(path, number) for number in range(count)]
    with transaction.atomic():  # to commit once instead of up to 10,000 times
        return [EndpointFactory(url=url, last_success_at=since) for url in urls]


def events(to: Sequence[Endpoint], count: int) -> list[Delivery]:
    """Build unsaved deliveries that go to the endpoints in turn. Each has its own conversation."""
    return [event(to[number % len(to)]) for number in range(count)]


def event(endpoint: Endpoint) -> Delivery:
    thread, message = new_id(), new_id()
    data = payloads.NewMessage(
        chatbot_id=endpoint.chatbot_id,
        thread_id=thread,
        message_id=message,
        role="user",
        question="Where is my parcel? I was told that it would be here on Tuesday.",
        answer=None,
        sources=[],
        created_at=datetime.now(UTC),
    )
    made: Delivery = DeliveryFactory.build(
        chatbot=endpoint.chatbot,
        thread_id=thread,
        message_id=message,
        body=payloads.body(data),
        due_at=timezone.now(),
    )
    return made


def commit(deliveries: Iterable[Delivery]) -> float:
    """Store deliveries in one transaction. Returns the time of the commit."""
    Delivery.objects.bulk_create(deliveries, batch_size=1_000)
    return time.monotonic()


def commit_evenly(deliveries: Iterable[Delivery], *, a_second: float) -> dict[str, float]:
    """Store deliveries one by one at a steady rate. Returns commit times by message id."""
    began, committed = time.monotonic(), {}
    for number, delivery in enumerate(deliveries):
        time.sleep(max(0.0, began + number / a_second - time.monotonic()))
        committed[str(delivery.message_id)] = commit([delivery])
    return committed


def all_settled(seconds: float) -> None:
    """Wait until every delivery is settled, which means that no attempts remain."""
    wait_until(lambda: not Delivery.objects.filter(due_at__isnull=False).exists(), seconds)


def delays(committed: dict[str, float], arrived: Iterable[Arrived]) -> list[float]:
    """Return the seconds from each event's commit to its first arrival."""
    first: dict[str, float] = {}
    for one in arrived:
        first.setdefault(one.message, one.moment)
    return [first[message] - moment for message, moment in committed.items()]


def percentile(values: Iterable[float], share: float) -> float:
    """Return a percentile by the nearest-rank method. `share` is between 0 and 1."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]
