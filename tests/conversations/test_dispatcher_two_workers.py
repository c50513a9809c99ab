"""Two workers share the deliveries.

Each sends only those that it has claimed, and never more at once than its concurrency allows.
"""

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
from webhooks.models import Delivery

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
            # otherwise, the first worker could finish all of the work before the second is ready
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
    # Each delivery was claimed by a worker, started by the same worker, and released.
    assert all(each == [each[0], each[0], ""] for each in owners.values())
    assert len(most) == 2 and max(most.values()) <= CONCURRENCY
