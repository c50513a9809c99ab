"""The inbox: its views and their order, searches, actions and polls."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from conversations.models import Thread
from conversations.models.message import MessageType
from conversations.services import agent_message, escalation
from tests.factories.accounts import UserFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import MessageFactory, ThreadFactory

OPEN = ["waits short", "is answered", "with the AI", "mine", "a colleague's", "waits long"]
INBOX = reverse("admin:conversations_thread_changelist")


def titles(client: Client, query: str = "") -> list[str]:
    """Return the titles of the listed threads, in order."""
    page = client.get(f"{INBOX}{query}").content.decode()
    keys = dict.fromkeys(re.findall(r"/thread/([0-9a-f-]{36})/change/", page))
    known = {str(thread.pk): thread.title for thread in Thread.objects.all()}
    return [known[key] for key in keys]


def talk(chatbot: Chatbot, title: str, *speakers: str, minutes: int = 0, **flags: Any) -> Thread:
    """Create a thread, updated `minutes` minutes ago, with one message from each speaker."""
    thread = ThreadFactory(chatbot=chatbot, title=title, **flags)
    for speaker in speakers:
        MessageFactory(thread=thread, message_type=speaker)
    moment = timezone.now() - timedelta(minutes=minutes)
    waits = thread.escalated and speakers[-1:] == (MessageType.USER_MESSAGE,)
    Thread.objects.filter(pk=thread.pk).update(
        updated_at=moment, waiting_since=moment if waits else None
    )
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
    talk(chatbot, "mine", user, agent, last_agent=chatbot.account.owner, minutes=6)
    talk(chatbot, "a colleague's", user, agent, last_agent=UserFactory(), minutes=7)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("?view=waiting", ["waits long", "waits short"]),
        ("?view=escalated", ["waits short", "is answered", "waits long"]),
        ("?view=important", ["stored away"]),
        ("?view=mine", ["mine"]),
        ("?view=open", OPEN),
        ("", OPEN),
        ("?view=nonsense", OPEN),
        ("?view=resolved", ["done"]),
        ("?view=archived", ["stored away"]),
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


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (0, ">under 1 min<"),
        (4, ">4 min<"),
        (6, 'busy">6 min ! long<'),
        (16, 'bad">16 min ‼ too long<'),
        (150, 'bad">2 h ‼ too long<'),
        (1_500, 'bad">1 day ‼ too long<'),
        (3_000, 'bad">2 days ‼ too long<'),
    ],
)
def test_a_long_wait_has_a_sign_a_text_and_a_color(
    client: Client, chatbot: Chatbot, minutes: int, words: str
) -> None:
    talk(chatbot, "waits", MessageType.USER_MESSAGE, escalated=True, minutes=minutes)
    assert words in client.get(f"{INBOX}?view=waiting").content.decode()


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("resolve_selected", "resolved"),
        ("archive_selected", "archived"),
        ("mark_selected", "important"),
    ],
)
def test_an_action_changes_the_selected_threads_of_the_users_chatbots(
    client: Client, chatbot: Chatbot, name: str, column: str
) -> None:
    mine, foreign = talk(chatbot, "mine"), talk(ChatbotFactory(), "foreign")
    other = talk(chatbot, "not selected")
    given = {"action": name, "_selected_action": [mine.pk, foreign.pk]}
    client.post(INBOX, given)
    changed = {key for key, value in Thread.objects.values_list("pk", column) if value}
    assert changed == {mine.pk}, other.pk


def test_a_search_finds_threads_of_all_views_and_quotes_the_hit(
    client: Client, chatbot: Chatbot
) -> None:
    old = talk(chatbot, "old", escalated=True, resolved=True, minutes=9)
    MessageFactory(thread=old, content="I was charged twice")
    MessageFactory(thread=old, content="Thanks")
    new = talk(chatbot, "new", tags=["charged"], minutes=1)
    MessageFactory(thread=talk(ChatbotFactory(), "foreign"), content="charged")
    assert titles(client, "?view=waiting&q=charged") == ["new", "old"]
    assert "I was charged twice" in client.get(f"{INBOX}?q=charged").content.decode()
    assert titles(client, f"?q={new.pk}") == ["new"]
    nothing = client.get(f"{INBOX}?q=refund").content.decode()
    assert "Nothing matches this search" in nothing
    assert "words from a message" in nothing


NEWS = reverse("admin:conversations_thread_news")


def poll(client: Client, tag: str = "", view: str = "waiting") -> Any:
    """Poll a view for changes since the response with this ETag."""
    return client.get(NEWS, {"view": view}, headers={"If-None-Match": tag} if tag else {})


def test_a_poll_reports_only_changes_in_the_users_own_chatbots(
    client: Client, chatbot: Chatbot
) -> None:
    thread = talk(chatbot, "asks", MessageType.USER_MESSAGE)
    before = poll(client)
    assert before.json() == {"rows": []}
    escalation.toggle(talk(ChatbotFactory(), "foreign").pk)
    assert poll(client, before["ETag"]).status_code == 304
    escalation.toggle(thread.pk)
    after = poll(client, before["ETag"])
    [row] = after.json()["rows"]
    assert row.startswith(str(thread.pk))
    assert f'data-rows="{row}"' in client.get(f"{INBOX}?view=waiting").content.decode()
