"""A worker survives an unreachable or slow PostgreSQL, and stops within the time limit."""

import os
import signal
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection

from tests.factories.webhooks import DeliveryFactory
from tests.servers.behaviors import answer
from tests.servers.processes import Worker, wait_until
from tests.servers.proxy import Proxy
from tests.servers.receiver import Receiver
from webhooks.models import Attempt, Delivery, Endpoint

pytestmark = pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has no server")
STOPPED_WITHIN = 40.0  # seconds; 10 more than the default LLM_TIMEOUT (see docs/deployment.md)
NOTICED = 10.0  # maximum seconds until a process notices a signal, even on a busy machine


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy(urlsplit(os.environ["TEST_DATABASE_URL"]).port or 5432) as proxy:
        yield proxy


def worker_through(proxy: Proxy, **environment: str) -> Worker:
    """Return a worker that connects to PostgreSQL through a proxy.

    It uses the production timeouts, except for a shorter WEBHOOK_TIMEOUT.
    """
    server = urlsplit(os.environ["TEST_DATABASE_URL"])
    where = f"{server.netloc.rpartition('@')[0]}@127.0.0.1:{proxy.port}"
    url = server._replace(netloc=where, path=f"/{connection.settings_dict['NAME']}").geturl()
    known = {"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": url}
    return Worker(**known | {"WEBHOOK_TIMEOUT": "2"} | environment)


def has_ended() -> bool:
    return Delivery.objects.filter(state="SUCCESS", due_at=None, claim=None).exists()


@pytest.mark.parametrize(
    "failure",
    [
        "refused",
        pytest.param("cut", marks=pytest.mark.slow),
        pytest.param("slow", marks=pytest.mark.slow),
    ],
)
def test_a_worker_that_cannot_settle_stops_in_time(
    receiver: Receiver, endpoint: Endpoint, proxy: Proxy, failure: str
) -> None:
    receiver.on("/hook", answer(delay=1.5))
    delivery = DeliveryFactory(chatbot=endpoint.chatbot)
    with worker_through(proxy) as worker:
        receiver.wait_for(1)
        proxy.fail(failure)
        worker.signal(signal.SIGTERM)
        assert worker.wait(STOPPED_WITHIN + NOTICED) == 0, worker.said()
    assert has_ended() == (failure == "slow"), worker.said()
    assert Attempt.objects.get().delivery_id == delivery.pk


def test_a_worker_outlives_an_outage_and_then_delivers(
    receiver: Receiver, endpoint: Endpoint, proxy: Proxy
) -> None:
    with worker_through(proxy) as worker:
        wait_until(lambda: "is ready" in worker.said(), told=worker.said)
        proxy.fail("cut")
        wait_until(lambda: "the database does not respond: " in worker.said(), told=worker.said)
        DeliveryFactory(chatbot=endpoint.chatbot)
        proxy.recover()
        wait_until(has_ended, told=worker.said)
        assert worker.running and worker.running.poll() is None
    assert len(receiver.arrivals) == 1
