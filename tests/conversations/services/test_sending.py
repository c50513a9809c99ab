import pytest

from conversations.models import Thread
from conversations.services import escalation, sending
from tests.factories.accounts import UserFactory

pytestmark = pytest.mark.proves("Threads and messages")


def test_a_thread_returned_while_a_message_is_under_way_gets_its_reply(thread: Thread) -> None:
    escalation.take_over(thread.pk, agent=UserFactory())
    stale = Thread.objects.get(pk=thread.pk)
    escalation.return_to_ai(thread.pk)
    assert [one.message_type for one in sending.send(stale, "Hello?")] == [
        "USER_MESSAGE",
        "AI_MESSAGE",
    ]
