import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from django.utils import timezone

from config.api import limits
from config.api.errors import Unavailable
from config.database.ids import new_id
from conversations.access import lock_thread
from conversations.models import Message, OwedReply, Thread
from conversations.services import escalation, visitor_message
from tests.factories.accounts import UserFactory
from tests.patience import PATIENCE

pytestmark = pytest.mark.proves("Threads and messages")


def test_a_thread_returned_to_the_ai_while_a_message_is_sent_gets_a_reply(thread: Thread) -> None:
    escalation.take_over(thread.pk, agent=UserFactory())
    stale = Thread.objects.get(pk=thread.pk)
    escalation.return_to_ai(thread.pk)
    assert [one.message_type for one in visitor_message.send(stale, "Hello?")] == [
        "USER_MESSAGE",
        "AI_MESSAGE",
    ]


@pytest.mark.django_db(transaction=True)
def test_a_send_that_loses_the_race_returns_the_reply_of_the_other_one(
    thread: Thread, default_model: Any
) -> None:
    """It finds no stored message, then waits while another request stores it."""
    looked, told, name = threading.Event(), [], new_id()

    def send() -> None:
        try:
            stale = Thread.objects.select_related("chatbot__account__plan").get(pk=thread.pk)
            looked.set()
            told.extend(visitor_message.send(stale, "Hi", message_id=name))
        finally:
            connections.close_all()

    halted = threading.Thread(target=send)
    with transaction.atomic():
        lock_thread(thread.pk)
        halted.start()
        assert looked.wait(PATIENCE)
        both = visitor_message.send(thread, "Hi", message_id=name)
    halted.join(PATIENCE)
    assert [one.pk for one in told] == [one.pk for one in both]
    assert Message.objects.count() == 2


def test_a_resumed_send_takes_a_place_while_its_reply_is_owed(
    thread: Thread, default_model: Any, settings: Any
) -> None:
    """Otherwise the sends of a dead process would take all threads of the next one."""
    settings.REPLIES_IN_FLIGHT_OF_ACCOUNT, name = 1, new_id()
    visitor_message.store(thread.pk, "Hi", escalates=False, message_id=name)  # the process dies
    OwedReply.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    with limits.places.one(thread.chatbot.account_id):
        with pytest.raises(Unavailable):
            visitor_message.send(thread, "Hi", message_id=name)
        assert OwedReply.objects.exists()
    both = visitor_message.send(thread, "Hi", message_id=name)
    with limits.places.one(thread.chatbot.account_id):  # nothing to wait for
        assert visitor_message.send(thread, "Hi", message_id=name) == both
    assert Message.objects.count() == len(both) == 2
