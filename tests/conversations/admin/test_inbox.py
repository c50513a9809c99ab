"""The inbox: its views and their order, filters, searches, actions and polls."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from conversations.admin.inbox_views import VIEWS
from conversations.models import Message, Thread
from conversations.models.message import MessageType
from conversations.services import agent_message, escalation
from tests.factories.accounts import UserFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import LeadFactory, MessageFactory, ThreadFactory

OPEN = ["waits short", "is answered", "with the AI", "mine", "a colleague's", "waits long"]
INBOX = reverse("admin:conversations_thread_changelist")
NEWS = reverse("admin:conversations_thread_news")
USER, AGENT = MessageType.USER_MESSAGE, MessageType.AGENT_MESSAGE


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
    waits = thread.escalated and speakers[-1:] == (USER,)
    Thread.objects.filter(pk=thread.pk).update(
        updated_at=moment, waiting_since=moment if waits else None
    )
    return thread


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("?view=waiting", ["waits long", "waits short"]),
        ("?view=unassigned", ["waits short", "waits long"]),
        ("?view=mine", ["mine"]),
        ("?view=unread", ["is answered"]),
        *(("?view=open", OPEN), ("", OPEN), ("?view=nonsense", OPEN)),
        ("?view=resolved", ["done"]),
        ("?view=archived", ["stored away"]),
    ],
)
def test_a_view_shows_its_threads_in_order(
    client: Client, chatbot: Chatbot, query: str, shown: list[str]
) -> None:
    talk(chatbot, "waits short", AGENT, USER, escalated=True, minutes=1)
    talk(chatbot, "waits long", USER, escalated=True, minutes=9)
    talk(
        chatbot,
        "is answered",
        *(USER, AGENT),
        escalated=True,
        minutes=2,
        assignee=UserFactory(),
        unread_messages_count=1,
    )
    talk(chatbot, "with the AI", USER, minutes=3)
    talk(chatbot, "done", USER, escalated=True, resolved=True, unread_messages_count=1, minutes=4)
    talk(chatbot, "stored away", USER, escalated=True, archived=True, important=True, minutes=5)
    talk(chatbot, "mine", USER, AGENT, assignee=chatbot.account.owner, minutes=6)
    talk(chatbot, "a colleague's", USER, AGENT, assignee=UserFactory(), minutes=7)
    assert titles(client, query) == shown


def test_a_visitor_who_asked_for_a_person_waits_until_one_answers(
    client: Client, chatbot: Chatbot
) -> None:
    thread = talk(chatbot, "asks", USER, MessageType.AI_MESSAGE)
    assert titles(client, "?view=waiting") == []
    escalation.toggle(thread.pk)
    assert titles(client, "?view=waiting") == ["asks"]
    agent_message.answer(thread.pk, agent=chatbot.account.owner, content="Let me look")
    assert titles(client, "?view=waiting") == []


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
    talk(chatbot, "not selected")
    client.post(INBOX, {"action": name, "_selected_action": [mine.pk, foreign.pk]})
    assert Thread.objects.get(**{column: True}) == mine


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
    assert "Nothing matches this search" in client.get(f"{INBOX}?q=refund").content.decode()


@pytest.fixture
def varied(chatbot: Chatbot) -> None:
    """Threads that differ in what the filters look at, and another account's thread."""
    talk(chatbot, "plain")
    talk(chatbot, "tagged", tags=["Very urgent", "billing"])
    talk(chatbot, "escalated", escalated=True)
    talk(chatbot, "important", important=True)
    LeadFactory(thread=talk(chatbot, "lead"))
    talk(chatbot, "from the app", platform_source="app")
    other = {"tags": ["billing"], "platform_source": "app", "important": True}
    LeadFactory(thread=talk(ChatbotFactory(), "foreign", **other))


@pytest.mark.usefixtures("varied")
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        *(("tag=billing", {"tagged"}), ("tag=BILL", {"tagged"}), ("tag=urgent", {"tagged"})),
        *(("tag=refund", set()), ("tag=-", set())),
        ("escalated=1", {"escalated"}),
        ("escalated=0", {"plain", "tagged", "important", "lead", "from the app"}),
        ("important=1", {"important"}),
        *(("resolved=1", set()), ("archived=1", set())),
        ("lead=1", {"lead"}),
        *(("platform=app", {"from the app"}), ("platform=ap", set())),
        ("platform=app&important=1", set()),
        *(("escalated=x", set()), ("lead=x", set()), ("chatbot=x", set())),
    ],
)
def test_a_filter_keeps_the_matching_threads_of_the_users_chatbots(
    client: Client, query: str, shown: set[str]
) -> None:
    assert set(titles(client, f"?view=open&{query}")) == shown
    polled = client.get(f"{NEWS}?view=open&{query}").json()["rows"]
    keys = {row.split(":")[0] for row in polled}
    assert set(Thread.objects.filter(pk__in=keys).values_list("title", flat=True)) == shown


@pytest.mark.usefixtures("varied")
def test_a_filtered_list_is_live_and_keeps_its_filter_in_the_other_views(client: Client) -> None:
    page = client.get(f"{INBOX}?view=open&tag=billing").content.decode()
    assert f'data-news="{NEWS}?tag=billing&amp;view=open"' in page
    assert 'href="?tag=billing&amp;view=resolved"' in page
    assert "shows at most the newest 2,000 conversations" in page
    assert "at most the newest" not in client.get(f"{INBOX}?platform=app").content.decode()


def poll(client: Client, tag: str = "", view: str = "waiting") -> Any:
    """Poll a view for changes since the response with this ETag."""
    return client.get(NEWS, {"view": view}, headers={"If-None-Match": tag} if tag else {})


def test_a_poll_reports_only_changes_in_the_users_own_chatbots(
    client: Client, chatbot: Chatbot
) -> None:
    thread = talk(chatbot, "asks", USER)
    for view in VIEWS:
        again = poll(client, poll(client, view=view)["ETag"], view=view)
        assert (again.status_code, again.content) == (304, b"")
    before = poll(client)
    assert before.json() == {"rows": []}
    escalation.toggle(talk(ChatbotFactory(), "foreign").pk)
    assert poll(client, before["ETag"]).status_code == 304
    escalation.toggle(thread.pk)
    [row] = poll(client, before["ETag"]).json()["rows"]
    assert row.startswith(str(thread.pk))
    assert f'data-rows="{row}"' in client.get(f"{INBOX}?view=waiting").content.decode()


def test_the_empty_inbox_names_the_last_answer(client: Client, chatbot: Chatbot) -> None:
    def empty() -> str:
        page = client.get(f"{INBOX}?view=waiting").content.decode()
        return re.sub(r"<[^>]*>", "", page.split('class="empty"')[1].split("</div>")[0])

    assert "Nobody is waiting. Show all open" in empty()
    owner = chatbot.account.owner
    for name, bot, minutes in (("Eva", ChatbotFactory(), 1), ("Kim", chatbot, 12)):
        thread = ThreadFactory(chatbot=bot, assignee=owner, resolved=name == "Kim")
        said = MessageFactory(thread=thread, message_type=AGENT, agent_name=name)
        moment = timezone.now() - timedelta(minutes=minutes)
        Message.objects.filter(pk=said.pk).update(created_at=moment)
    assert "Nobody is waiting. Last answer 12 min ago by Kim. Show all open" in empty()


def test_the_menu_opens_the_inbox_with_the_last_view_and_filters(
    client: Client, chatbot: Chatbot
) -> None:
    menu = f"{INBOX}?view=last"
    assert menu in client.get(reverse("admin:index")).content.decode()
    for query in ("view=resolved&tag=late", "view=mine"):
        client.cookies["inbox"] = query
        assert client.get(menu)["Location"] == f"{INBOX}?{query}"
    for broken in ("view=last", "view=x", "", "%", "//example.com"):
        client.cookies["inbox"] = broken
        assert client.get(menu).context["cl"].view == "waiting"
