"""Deliveries are not affected if the broker dies, loses its data, refuses writes or restarts."""

import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import uuid4

import pytest
import redis
from django.conf import settings
from django.utils import timezone

from tests.factories.webhooks import DeliveryFactory
from tests.servers.broker import REFUSALS, Broker, Fault
from tests.servers.processes import Worker, free_port, wait_until
from tests.servers.receiver import Receiver
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.tasks import deliver


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def have_ended(count: int) -> Callable[[], bool]:
    return lambda: Delivery.objects.filter(state="SUCCESS", due_at=None).count() == count


@pytest.mark.slow
def test_deliveries_continue_while_the_broker_is_dead_and_after_its_return(
    receiver: Receiver, endpoint: Endpoint, broker: Broker
) -> None:
    with Worker(REDIS_URL=broker.url) as worker:
        DeliveryFactory(chatbot=endpoint.chatbot)
        wait_until(have_ended(1), told=worker.said)
        broker.kill()
        DeliveryFactory.create_batch(3, chatbot=endpoint.chatbot)
        wait_until(have_ended(4), told=worker.said)
        broker.start()
        DeliveryFactory(chatbot=endpoint.chatbot)
        wait_until(have_ended(5), told=worker.said)
    assert len(receiver.arrivals) == 5


def test_a_worker_starts_and_delivers_without_its_broker(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker(REDIS_URL=f"redis://127.0.0.1:{free_port()}/0") as worker:
        wait_until(have_ended(1), told=worker.said)
    assert len(receiver.arrivals) == 1


def is_consumed(broker: Broker) -> bool:
    """Return whether a worker is waiting for messages from this broker."""
    return any(connection["cmd"] == "brpop" for connection in broker.client().client_list())


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_worker_starts_and_delivers_while_its_broker_refuses_writes(
    receiver: Receiver, endpoint: Endpoint, broker: Broker, refusal: Fault
) -> None:
    DeliveryFactory(chatbot=endpoint.chatbot)
    with refusal(broker), Worker(REDIS_URL=broker.url) as worker:
        wait_until(lambda: "Trying again in 1.00 second" in worker.said(), told=worker.said)
        wait_until(have_ended(1), told=worker.said)
        assert worker.stop() == 0
    assert "CRITICAL" not in worker.said()
    assert len(receiver.arrivals) == 1


@pytest.mark.parametrize("refusal", [Broker.demoted, Broker.unable_to_save])
def test_deliveries_continue_while_the_broker_refuses_writes_and_afterwards(
    receiver: Receiver, endpoint: Endpoint, broker: Broker, refusal: Fault
) -> None:
    with Worker(REDIS_URL=broker.url) as worker:
        wait_until(lambda: is_consumed(broker), told=worker.said)
        with refusal(broker):
            wait_until(lambda: "Trying again in" in worker.said(), told=worker.said)
            DeliveryFactory(chatbot=endpoint.chatbot)
            wait_until(have_ended(1), told=worker.said)
        wait_until(lambda: is_consumed(broker), told=worker.said)
        DeliveryFactory(chatbot=endpoint.chatbot)
        wait_until(have_ended(2), told=worker.said)
        assert worker.stop() == 0
    assert "CRITICAL" not in worker.said()
    assert len(receiver.arrivals) == 2


def test_duplicated_or_forged_messages_send_nothing(
    receiver: Receiver, endpoint: Endpoint, broker: Broker
) -> None:
    with Worker(REDIS_URL=broker.url) as worker:
        made = DeliveryFactory.create_batch(3, chatbot=endpoint.chatbot)
        wait_until(have_ended(3), told=worker.said)
        later = timezone.now() + timedelta(hours=1)
        waiting = DeliveryFactory.create_batch(
            3, chatbot=endpoint.chatbot, state="RETRYING", due_at=later
        )
        prefix = f"{settings.REDIS_PREFIX}:"
        options = {"transport_options": {"global_keyprefix": prefix}}
        queue = redis.Redis.from_url(broker.url)
        worker.signal(signal.SIGSTOP)
        with deliver.app.connection_for_write(broker.url, **options) as connection:
            for delivery in (made + waiting) * 20:
                ids = (str(uuid4()), str(delivery.pk))
                deliver.apply_async(ids, connection=connection, retry=False)
        assert queue.llen(f"{prefix}celery") >= 120 - 1  # the worker may have read one task
        worker.signal(signal.SIGCONT)
        wait_until(lambda: not queue.exists(f"{prefix}celery"), told=worker.said)
        last = Delivery.objects.filter(pk=DeliveryFactory(chatbot=endpoint.chatbot).pk)
        wait_until(last.filter(state="SUCCESS").exists, told=worker.said)
    assert len(receiver.arrivals) == 4
    assert not Attempt.objects.filter(delivery__in=waiting).exists()
