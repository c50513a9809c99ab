"""The inbox's filters: which threads match them, and how many queries they need."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chatbots.models import Chatbot
from conversations.admin.inbox_filters import BOUNDED, KEPT, applied
from conversations.models import Thread
from tests.factories import bulk
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import LeadFactory, ThreadFactory, VisitorFactory
from tests.factories.staff import AGENTS, staff, superuser

INBOX = reverse("admin:conversations_thread_changelist")
NEWS = reverse("admin:conversations_thread_news")


@pytest.fixture
def threads(chatbot: Chatbot) -> None:
    def talk(title: str, **given: Any) -> Thread:
        thread: Thread = ThreadFactory(chatbot=chatbot, title=title, **given)
        return thread

    talk("plain")
    talk("tagged", tags=["Very urgent", "billing"])
    talk("escalated", escalated=True)
    talk("important", important=True)
    LeadFactory(thread=talk("lead"))
    talk("from the app", platform_source="app")
    other = ChatbotFactory()
    LeadFactory(
        thread=ThreadFactory(
            chatbot=other, title="foreign", tags=["billing"], platform_source="app", important=True
        )
    )


def titles(client: Client, query: str) -> set[str]:
    page = client.get(f"{INBOX}{query}")
    assert page.status_code == 200
    return {thread.title for thread in page.context["cl"].result_list}


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("tag=billing", {"tagged"}),
        ("tag=BILL", {"tagged"}),
        ("tag=urgent", {"tagged"}),
        ("tag=refund", set()),
        ("tag=-", set()),
        ("escalated=1", {"escalated"}),
        ("escalated=0", {"plain", "tagged", "important", "lead", "from the app"}),
        ("escalated=x", set()),
        ("important=1", {"important"}),
        ("resolved=1", set()),
        ("archived=1", set()),
        ("lead=1", {"lead"}),
        ("lead=x", set()),
        ("platform=app", {"from the app"}),
        ("platform=ap", set()),
        ("platform=app&important=1", set()),
        ("chatbot=x", set()),
    ],
)
def test_a_filter_keeps_the_matching_threads_of_the_users_chatbots(
    client: Client, query: str, shown: set[str]
) -> None:
    assert titles(client, f"?view=open&{query}") == shown
    polled = client.get(f"{NEWS}?view=open&{query}").json()["rows"]
    keys = {row.split(":")[0] for row in polled}
    assert set(Thread.objects.filter(pk__in=keys).values_list("title", flat=True)) == shown


@pytest.mark.usefixtures("threads")
def test_a_filtered_list_is_live_and_keeps_its_filter_in_the_other_views(client: Client) -> None:
    page = client.get(f"{INBOX}?view=open&tag=billing").content.decode()
    assert f'data-news="{NEWS}?tag=billing&amp;view=open"' in page
    assert 'href="?tag=billing&amp;view=resolved"' in page
    assert "shows at most the newest 2,000 conversations" in page
    assert "at most the newest" not in client.get(f"{INBOX}?platform=app").content.decode()


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("query", [f"{name}=1" for name in KEPT])
def test_a_filtered_poll_needs_no_more_queries(client: Client, query: str) -> None:
    tag = client.get(f"{NEWS}?view=open&{query}")["ETag"]
    with CaptureQueriesContext(connection) as asked:
        again = client.get(f"{NEWS}?view=open&{query}", headers={"If-None-Match": tag})
    assert again.status_code == 304
    assert len(asked) <= 4


@pytest.mark.slow
def test_a_filter_needs_the_same_queries_at_any_number_of_threads(
    client: Client, chatbot: Chatbot
) -> None:
    def queries(name: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(f"{INBOX}?view=open&{name}={'x' if name == 'tag' else 1}")
        return len(asked)

    visitor = VisitorFactory(chatbot=chatbot)
    given = {"visitor": visitor, "important": True, "tags": ["x"], "platform_source": "1"}
    made = [Thread(chatbot=chatbot, **given) for _ in range(1_000)]
    Thread.objects.bulk_create(made[:10])
    few = {name: queries(name) for name in KEPT}
    Thread.objects.bulk_create(made[10:])
    assert {name: queries(name) for name in KEPT} == few
    assert max(few.values()) <= 10


@pytest.mark.parametrize("name", sorted(BOUNDED | {"platform"}))
@pytest.mark.parametrize("who", ["superuser", "staff"])
def test_a_filter_that_matches_nothing_does_not_read_the_whole_list(
    chatbot: Chatbot, name: str, who: str
) -> None:
    """Create so many threads that a full scan is never the cheapest plan, and check the plan."""
    bulk.copy(ThreadFactory(chatbot=chatbot), 10_000, {"updated_at": bulk.later()})
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE conversations_thread")
    request = RequestFactory().get(INBOX, {name: "1"})
    request.user = superuser() if who == "superuser" else staff(chatbot.account.owner, AGENTS)
    rows = Thread.objects.all()
    if who == "staff":
        rows = rows.filter(chatbot__in=[chatbot.pk])
    plan = applied(request, rows.open()).latest_first()[:26].explain()
    read = ("thread_open", "thread_latest", "Seq Scan on conversations_thread", "SCAN conv")
    assert not [each for each in read if each in plan], plan
