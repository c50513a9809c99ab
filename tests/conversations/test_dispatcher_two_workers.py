"""Two workers share the deliveries.

Each worker sends only the deliveries that it has claimed. It never sends more deliveries at once
than its concurrency allows.
"""

import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from config.runtime import liveness
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers import certificates
from tests.servers.behaviors import answer
from tests.servers.processes import Worker, wait_until
from tests.servers.receiver import Receiver
from webhooks.models import Attempt, Delivery

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has one worker"),
]

CONCURRENCY, ENDPOINTS, EACH = 8, 10, 12
NOTE = """
CREATE TABLE noted (number bigserial, delivery uuid, worker text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO noted (delivery, worker) VALUES (NEW.id, NEW.claimed_by); RETURN NULL; END $$;
CREATE TRIGGER note AFTER UPDATE ON webhooks_delivery FOR EACH ROW
    WHEN (OLD.claim IS DISTINCT FROM NEW.claim) EXECUTE FUNCTION note();
"""
# Like a restart of the database, this ends the sessions that hold the workers' liveness locks.
LOSE_LOCKS = f"""
SELECT pg_terminate_backend(pid) FROM pg_locks
    WHERE locktype = 'advisory' AND classid = {liveness.NAMESPACE}
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
FORGET = "DROP TRIGGER note ON webhooks_delivery; DROP FUNCTION note; DROP TABLE noted"


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.fixture
def _noted() -> Iterator[None]:
    """Make the database log each change of a delivery's claim.

    An entry records which worker holds the new claim, or "" if the claim was released.
    """
    run(NOTE)
    yield
    run(FORGET)


def noted() -> list[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT delivery::text, worker FROM noted ORDER BY number")
        return list(cursor.fetchall())


@pytest.mark.usefixtures("_noted")
def test_each_of_two_workers_runs_what_it_claimed_within_its_concurrency() -> None:
    with Receiver(certificates.good()) as receiver:
        receiver.on("/hook", answer(delay=0.05))
        endpoints = [
            EndpointFactory(
                url=receiver.url("/hook"), last_success_at=timezone.now(), attempts_limit=64
            )
            for _ in range(ENDPOINTS)
        ]
        with Worker(slots=CONCURRENCY) as one, Worker(slots=CONCURRENCY):
            # Wait for both workers, so that the first does not finish all of the work by itself.
            wait_until(lambda: liveness.living() == 2, told=one.said)
            with transaction.atomic():
                for endpoint in endpoints:
                    DeliveryFactory.create_batch(EACH, chatbot=endpoint.chatbot)
            succeeded = Delivery.objects.filter(state="SUCCESS")
            wait_until(lambda: succeeded.count() == ENDPOINTS * EACH, told=one.said)
    owners, in_flight, most = defaultdict[str, list[str]](list), Counter[str](), Counter[str]()
    for delivery, worker in noted():
        if worker and not owners[delivery]:
            in_flight[worker] += 1
        if not worker:
            in_flight[owners[delivery][0]] -= 1
        owners[delivery].append(worker)
        most |= in_flight
    # The worker that claims a delivery also starts its attempt and then releases the delivery.
    assert all(each == [each[0], each[0], ""] for each in owners.values())
    assert len(most) == 2 and max(most.values()) <= CONCURRENCY


@pytest.mark.slow
def test_a_worker_that_is_suspended_just_after_a_restart_of_the_database_keeps_its_attempts() -> (
    None
):
    with Receiver(certificates.good()) as receiver:
        receiver.on("/hook", answer(delay=7.0))
        timeout = {"WEBHOOK_TIMEOUT": "20"}
        with Worker(slots=2, **timeout) as one, Worker(slots=2, **timeout):
            wait_until(lambda: liveness.living() == 2, told=one.said)
            with transaction.atomic():
                for _ in range(4):
                    url, tried_at = receiver.url("/hook"), timezone.now()
                    DeliveryFactory(
                        chatbot=EndpointFactory(url=url, last_success_at=tried_at).chatbot
                    )
            wait_until(lambda: Attempt.objects.count() == 4, told=one.said)
            one.signal(signal.SIGSTOP)
            run(LOSE_LOCKS)
            time.sleep(4)  # between liveness.PATIENCE and liveness.PATIENCE_AFTER_LOSS
            one.signal(signal.SIGCONT)
            done = Delivery.objects.filter(state="SUCCESS")
            wait_until(lambda: done.count() == 4, told=one.said)
    assert not Attempt.objects.filter(interrupted=True).exists()
    assert len(receiver.arrivals) == 4
