"""Long queues and large responses use almost no memory."""

import tracemalloc

import pytest

from tests.factories.webhooks import DeliveryFactory
from tests.servers import behaviors as say
from tests.servers.behaviors import Behavior
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import run, stored
from webhooks.models import Endpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("trusting")]
MOST = 1024 * 1024  # maximum memory use in bytes, including that of the receiver in this process


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
