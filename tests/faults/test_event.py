"""If a web process is killed while storing a message and its event, it stores both or neither."""

import pytest
import requests

from accounts.services import api_key
from conversations.models import Message, Thread
from tests.factories.conversations import ThreadFactory
from tests.patience import PATIENCE
from tests.servers.processes import Web, Worker, wait_until
from tests.servers.receiver import Receiver
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.proves("Event kinds/NEW_MESSAGE")


@pytest.fixture
def thread(endpoint: Endpoint) -> Thread:
    return ThreadFactory(chatbot=endpoint.chatbot)


def say_to_one_that_dies(thread: Thread, *, crash_point: str) -> None:
    """Send a message to a web process that dies at the crash point, before it responds."""
    _, key = api_key.issue(thread.chatbot.account.owner)
    path = f"/api/v1/chatting/{thread.chatbot_id}/thread/{thread.pk}/message"
    with Web(TEST_CRASH_POINT=crash_point) as doomed, pytest.raises(requests.ConnectionError):
        requests.post(
            f"{doomed.address}{path}",
            json={"content": "Hi"},
            headers={"Authorization": f"Bearer {key}"},
            timeout=PATIENCE,
        )


@pytest.mark.slow
def test_a_crash_before_the_commit_leaves_neither_message_nor_event(thread: Thread) -> None:
    say_to_one_that_dies(thread, crash_point="event-recorded")
    assert not Message.objects.exists()
    assert not Delivery.objects.exists()


@pytest.mark.slow
def test_the_event_is_delivered_after_a_crash_after_the_commit(
    receiver: Receiver, thread: Thread
) -> None:
    say_to_one_that_dies(thread, crash_point="message-stored")
    delivery = Delivery.objects.get(message_id=Message.objects.get().pk)
    with Worker() as worker:
        arrival = receiver.wait_for(1)[0]  # the owed reply's event may arrive later
        delivered = Delivery.objects.filter(pk=delivery.pk, state="SUCCESS")
        wait_until(delivered.exists, told=worker.said)
    assert arrival.body == bytes(delivery.body)
