"""Long queues and large responses use almost no memory."""

import re
import tracemalloc
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.factories.webhooks import DeliveryFactory
from tests.servers import behaviors as say
from tests.servers.behaviors import Behavior
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import ME, claim, expire, run, stored
from webhooks.engine import recovery, schedule
from webhooks.models import Endpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("trusting")]
MOST = 1024 * 1024  # maximum memory use in bytes, including that of the receiver in this process


def reads_bodies(act: Callable[[], object]) -> bool:
    """Return whether calling `act` runs any query that mentions the `body` column."""
    with CaptureQueriesContext(
        connection,
    ) as queries:
        act()
    assert queries.captured_queries
    return any(re.search(r"\bbody\b", query["sql"]) for query in queries.captured_queries)


def test_only_an_attempt_reads_bodies(endpoint: Endpoint) -> None:
    DeliveryFactory.create_batch(3, chatbot=endpoint.chatbot)
    DeliveryFactory(chatbot=endpoint.chatbot, state="RETRYING", attempts_count=1)
    assert not reads_bodies(lambda: claim(2))
    assert not reads_bodies(expire), "freed before an attempt"
    begun = [(one, ME) for one in claim()]
    assert reads_bodies(lambda: schedule._confirm_all(begun)), "the check detects reads"
    assert not reads_bodies(expire), "freed during an attempt"
    assert not reads_bodies(recovery.release_unstarted)


@pytest.mark.parametrize(
    "behavior",
    [
        pytest.param(say.bomb(), id="decompression bomb"),
        pytest.param(say.endless_body(), id="endless body"),
        pytest.param(say.endless_body(200, "Content-Encoding: gzip"), id="endless compressed body"),
    ],
)
def test_a_large_response_is_not_kept_in_memory(
    receiver: Receiver, endpoint: Endpoint, behavior: Behavior
) -> None:
    DeliveryFactory(chatbot=endpoint.chatbot)
    run()  # the first run also creates objects that the process then keeps
    receiver.on("/hook", behavior)
    delivery = DeliveryFactory(chatbot=endpoint.chatbot)
    tracemalloc.start()
    try:
        run()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST
    assert stored(delivery)["state"] == "SUCCESS"
