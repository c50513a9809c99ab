"""While the broker is away or refuses writes, deliveries wait. Afterwards, all of them are made."""

import subprocess
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
import redis
from django.conf import settings

from tests.factories.webhooks import DeliveryFactory
from tests.servers.behaviors import answer
from tests.servers.broker import REFUSALS, Broker, Fault
from tests.servers.processes import ROOT, Worker, free_port, wait_until
from tests.servers.receiver import Receiver
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.tasks import deliver

BACK = 90.0  # maximum time until a worker consumes again; 30 s and some for a busy machine


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def have_ended(count: int) -> Callable[[], bool]:
    return lambda: Delivery.objects.filter(state="SUCCESS", due_at=None).count() == count


def nothing_is_lost(receiver: Receiver, count: int) -> None:
    assert len(receiver.arrivals) == Attempt.objects.count() == count
    assert not Attempt.objects.filter(interrupted=True).exists()


def test_deliveries_wait_while_the_broker_is_dead_and_are_made_after_its_return(
    receiver: Receiver, endpoint: Endpoint, broker: Broker
) -> None:
    receiver.on("/hook", answer(delay=1.0))
    with Worker(REDIS_URL=broker.url) as worker:
        DeliveryFactory.create_batch(4, chatbot=endpoint.chatbot)
        receiver.wait_for(1)  # the first attempts are in flight when the broker dies
        broker.kill()
        DeliveryFactory.create_batch(3, chatbot=endpoint.chatbot)
        wait_until(lambda: "Trying again in" in worker.said(), told=worker.said)
        broker.start()
        wait_until(have_ended(7), BACK, told=worker.said)
        assert worker.stop() == 0
    nothing_is_lost(receiver, 7)


def test_a_worker_starts_without_its_broker_and_stops(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker(REDIS_URL=f"redis://127.0.0.1:{free_port()}/0") as worker:
        wait_until(lambda: "the scheduler failed" in worker.said(), told=worker.said)
        assert worker.stop() == 0
    assert Delivery.objects.get().claim is None
    nothing_is_lost(receiver, 0)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_deliveries_are_made_once_the_broker_accepts_writes_again(
    receiver: Receiver, endpoint: Endpoint, broker: Broker, refusal: Fault
) -> None:
    with Worker(REDIS_URL=broker.url) as worker:
        DeliveryFactory(chatbot=endpoint.chatbot)
        wait_until(have_ended(1), told=worker.said)
        with refusal(broker):
            DeliveryFactory(chatbot=endpoint.chatbot)
            wait_until(lambda: "the scheduler failed" in worker.said(), told=worker.said)
        wait_until(have_ended(2), BACK, told=worker.said)
        assert worker.stop() == 0
    nothing_is_lost(receiver, 2)


def test_a_wiped_broker_loses_nothing(
    receiver: Receiver, endpoint: Endpoint, broker: Broker
) -> None:
    """The claims of the lost messages expire, and the deliveries are claimed again."""
    receiver.on("/hook", answer(delay=0.5))
    with Worker(slots=1, REDIS_URL=broker.url) as worker:
        DeliveryFactory.create_batch(6, chatbot=endpoint.chatbot)
        receiver.wait_for(2)
        with redis.Redis.from_url(broker.url) as server:
            server.flushall()
        wait_until(have_ended(6), told=worker.said)
    nothing_is_lost(receiver, 6)


def test_duplicated_or_forged_messages_send_nothing(
    receiver: Receiver, endpoint: Endpoint, broker: Broker
) -> None:
    with Worker(REDIS_URL=broker.url) as worker:
        made = DeliveryFactory.create_batch(3, chatbot=endpoint.chatbot)
        wait_until(have_ended(3), told=worker.said)
        prefix = f"{settings.REDIS_PREFIX}:"
        options = {"transport_options": {"global_keyprefix": prefix}}
        with (
            redis.Redis.from_url(broker.url) as server,
            deliver.app.connection_for_write(broker.url, **options) as connection,
        ):
            for delivery in made * 20:
                ids = (str(uuid4()), str(delivery.pk))
                deliver.apply_async(ids, connection=connection, retry=False, queue="slow")
            wait_until(lambda: not server.exists(f"{prefix}slow"), told=worker.said)
        DeliveryFactory(chatbot=endpoint.chatbot)
        wait_until(have_ended(4), told=worker.said)
    nothing_is_lost(receiver, 4)


@pytest.mark.skipif(settings.MACHINE_BOUND, reason="the broker is inside the worker")
@pytest.mark.parametrize("command", ["active", "stats", "active_queues"])
def test_celery_inspects_a_running_worker(
    receiver: Receiver, endpoint: Endpoint, command: str
) -> None:
    receiver.on("/hook", answer(delay=5.0))
    DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker() as worker:
        receiver.wait_for(1)
        said = subprocess.run(
            [ROOT / ".venv/bin/celery", "-A", "config", "inspect", command, "--timeout", "4"],
            env=worker.environment,
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    expected = {
        "active": "webhooks.tasks.deliver",
        "stats": "celery.concurrency.thread:TaskPool",
        "active_queues": "'routing_key': 'slow'",
    }
    assert expected[command] in said
    assert "1 node online" in said
