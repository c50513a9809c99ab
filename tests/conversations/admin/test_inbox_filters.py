"""The inbox's filters: which threads match them, and how many queries they need."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from conversations.models import Thread
from tests.factories.chatbots import ChatbotFactory
from tests.factories.conversations import LeadFactory, ThreadFactory

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
