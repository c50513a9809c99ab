import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections, transaction

from config.api import limits
from config.api.errors import Unavailable
from config.database.ids import new_id
from conversations.access import lock_thread
from conversations.models import Message, OwedReply, Thread
from conversations.services import escalation, visitor_message
from conversations.services.visitor_message import Incoming
from tests.factories.accounts import UserFactory
from tests.patience import PATIENCE

pytestmark = pytest.mark.proves("Threads and messages")


def received(thread: Thread, content: str = "Hi") -> Incoming:
    """Carry out the first step of sending a message: read the limits and the thread's state."""
    return visitor_message.receive(thread.chatbot_id, thread.pk, content)


def test_a_reply_in_a_thread_that_was_returned_to_the_ai_takes_a_place(
    thread: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message counts toward the account's limit on replies in flight only if it gets a reply."""
    monkeypatch.setattr(limits.places, "share", 1)
    escalation.take_over(thread.pk, agent=UserFactory())
    with limits.places.part(thread.chatbot.account_id):
        assert len(visitor_message.send(received(thread)).messages) == 1
        incoming = received(thread)
        escalation.return_to_ai(thread.pk)
        with pytest.raises(Unavailable):
            visitor_message.send(incoming)
    assert OwedReply.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_send_that_loses_the_race_returns_the_reply_of_the_winner(
    thread: Thread, default_model: Any
) -> None:
    """A request finds no message, then waits for the lock while another request stores it."""
    looked, told, name = threading.Event(), [], new_id()

    def note(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        found = execute(sql, *rest)
        if sql.startswith("SELECT") and 'FROM "conversations_message"' in sql:
            looked.set()
        return found

    def send() -> None:
        try:
            incoming = received(thread)
            with connection.execute_wrapper(note):
                told.extend(visitor_message.send(incoming, message_id=name).messages)
        finally:
            connections.close_all()

    halted = threading.Thread(target=send)
    with transaction.atomic():
        lock_thread(thread.pk)
        halted.start()
        assert looked.wait(PATIENCE)
        both = visitor_message.send(received(thread), message_id=name).messages
    halted.join(PATIENCE)
    assert [one.pk for one in told] == [one.pk for one in both]
    assert Message.objects.count() == 2
