"""Long words, such as names without spaces, wrap instead of widening a page or cell."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from accounts.models import ApiKey, User
from accounts.services import api_key
from chatbots.models import Chatbot
from conversations.models import Thread
from conversations.models.message import MessageType
from tests.browser.crawl import DESK, PHONE, SETTLED, WIDTH
from tests.factories.conversations import (
    LeadFactory,
    MessageFactory,
    ThreadFactory,
    VisitorFactory,
)

WORD = "Longname" * 25


@pytest.fixture
def thread(shop: Chatbot) -> Thread:
    Chatbot.objects.filter(pk=shop.pk).update(name=WORD[::-1])
    visitor = VisitorFactory(chatbot=shop, name=WORD, email=f"{WORD}@a.example", external_id=WORD)
    thread: Thread = ThreadFactory(
        chatbot=shop, visitor=visitor, title=WORD, tags=[WORD, "billing"], platform_source=WORD
    )
    for kind in (MessageType.USER_MESSAGE, MessageType.AGENT_MESSAGE):
        MessageFactory(thread=thread, message_type=kind, content=WORD, agent_name=WORD)
    LeadFactory(thread=thread, name=WORD, email=f"{WORD}@a.example")
    return thread


@pytest.fixture
def key(person: User) -> ApiKey:
    return api_key.issue(person, label=WORD[:100])[0]


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_a_page_is_not_wider_than_the_window(
    page: Page, thread: Thread, key: ApiKey, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for name, row in (
        ("conversations_thread_change", thread),
        ("conversations_visitor_change", thread.visitor),
        ("chatbots_chatbot_try", thread.chatbot),
        ("chatbots_chatbot_delete", thread.chatbot),
        ("webhooks_endpoint_of", thread.chatbot),
        ("accounts_apikey_change", key),
    ):
        page.goto(reverse(f"admin:{name}", args=[row.pk]))
        page.evaluate(SETTLED)
        assert page.evaluate(WIDTH) <= width, name
