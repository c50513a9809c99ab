"""The inbox: the order in which agents answer visitors."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from conversations.models import Thread
from conversations.models.message import MessageType
from conversations.services import agent_message, escalation, visitor_message
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.staff import AGENTS, signed_in, staff

INBOX = reverse("admin:conversations_thread_changelist")


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(staff(chatbot.account.owner, AGENTS))


def titles(client: Client, query: str = "") -> list[str]:
    """Return the visitors in the order of the list."""
    page = client.get(f"{INBOX}{query}").content.decode()
    keys = dict.fromkeys(re.findall(r"/thread/([0-9a-f-]{36})/change/", page))
    known = {str(thread.pk): thread.title for thread in Thread.objects.all()}
    return [known[key] for key in keys]


def talk(chatbot: Chatbot, title: str, *speakers: str, minutes: int = 0, **flags: Any) -> Thread:
    """Create a thread with messages of these speakers, the last of them some minutes ago."""
    thread = ThreadFactory(chatbot=chatbot, title=title, **flags)
    for speaker in speakers:
        MessageFactory(thread=thread, message_type=speaker)
    moment = timezone.now() - timedelta(minutes=minutes)
    Thread.objects.filter(pk=thread.pk).update(updated_at=moment)
    return thread


@pytest.fixture
def threads(chatbot: Chatbot) -> None:
    user, agent = MessageType.USER_MESSAGE, MessageType.AGENT_MESSAGE
    talk(chatbot, "waits short", agent, user, escalated=True, minutes=1)
    talk(chatbot, "waits long", user, escalated=True, minutes=9)
    talk(chatbot, "is answered", user, agent, escalated=True, minutes=2)
    talk(chatbot, "with the AI", user, minutes=3)
    talk(chatbot, "done", user, escalated=True, resolved=True, minutes=4)
    talk(chatbot, "stored away", user, escalated=True, archived=True, important=True, minutes=5)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("?view=waiting", ["waits long", "waits short"]),
        ("?view=escalated", ["waits short", "is answered", "waits long"]),
        ("", ["waits short", "is answered", "with the AI", "waits long"]),
        ("?view=nonsense", ["waits short", "is answered", "with the AI", "waits long"]),
        (
            "?view=all",
            ["waits short", "is answered", "with the AI", "done", "stored away", "waits long"],
        ),
        ("?view=all&important__exact=1", ["stored away"]),
    ],
)
def test_a_view_shows_its_threads_in_order(client: Client, query: str, shown: list[str]) -> None:
    assert titles(client, query) == shown


def test_a_visitor_who_asked_for_a_person_waits_until_one_answers(
    client: Client, chatbot: Chatbot
) -> None:
    thread = talk(chatbot, "asks", MessageType.USER_MESSAGE, MessageType.AI_MESSAGE)
    empty = client.get(f"{INBOX}?view=waiting").content.decode()
    assert "Nobody is waiting." in empty
    escalation.toggle(thread.pk)
    assert titles(client, "?view=waiting") == ["asks"]
    agent_message.answer(thread.pk, agent=chatbot.account.owner, content="Let me look")
    assert titles(client, "?view=waiting") == []


def test_a_visitor_who_writes_in_a_resolved_thread_waits_again(
    client: Client, chatbot: Chatbot
) -> None:
    thread = talk(chatbot, "asks again", escalated=True, resolved=True)
    assert titles(client, "?view=waiting") == []
    visitor_message.send(visitor_message.receive(chatbot.pk, thread.pk, "Are you still there?"))
    assert titles(client, "?view=waiting") == titles(client) == ["asks again"]


def test_a_visitor_who_is_returned_to_the_ai_no_longer_waits(
    client: Client, chatbot: Chatbot
) -> None:
    thread = talk(chatbot, "asks", MessageType.USER_MESSAGE)
    for shown in (["asks"], []):
        escalation.toggle(thread.pk)
        assert titles(client, "?view=waiting") == shown


def test_the_next_page_stays_in_the_view(client: Client, chatbot: Chatbot) -> None:
    for index in range(30):
        talk(chatbot, f"{index}", MessageType.USER_MESSAGE, escalated=True, minutes=index)
        talk(chatbot, "with the AI", MessageType.USER_MESSAGE)
    page = client.get(f"{INBOX}?view=waiting").content.decode()
    [following] = re.findall(r'href="(\?[^"]+)" rel="next"', page)
    assert titles(client, following.replace("&amp;", "&")) == ["4", "3", "2", "1", "0"]


def test_the_last_message_is_shown_as_text_with_its_author(
    client: Client, chatbot: Chatbot
) -> None:
    thread = ThreadFactory(chatbot=chatbot, tags=["<b>tag</b>"], unread_messages_count=3)
    MessageFactory(
        thread=thread, message_type=MessageType.AI_MESSAGE, content="<script>alert(1)</script>"
    )
    page = client.get(INBOX).content.decode()
    assert "AI: &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;b&gt;tag&lt;/b&gt;" in page
    assert "<script>alert" not in page


def test_the_list_needs_the_same_queries_at_any_number_of_threads(
    client: Client, chatbot: Chatbot
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(INBOX)
        return len(asked)

    for _ in range(2):
        talk(chatbot, "few", *[MessageType.USER_MESSAGE] * 2)
    few = queries()
    for _ in range(20):
        talk(chatbot, "many", *[MessageType.USER_MESSAGE] * 2)
    assert queries() == few
