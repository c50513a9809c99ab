"""Long words, such as names without spaces, wrap instead of widening a page or cell."""

import time
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import ApiKey, User
from accounts.services import api_key
from chatbots.models import Chatbot
from config.database.lengths import LONG
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
WIDEST_CELL = 21 * 16  # pixels
INBOX = "?view=open"
LISTS = {  # the query string of each list
    "conversations_thread": INBOX,
    "conversations_lead": "",
    "conversations_visitor": "",
    "accounts_apikey": "",
}
SPILLS = "one => one.scrollWidth > one.clientWidth"
LIST = ".simplebar-content-wrapper:has(#result_list)"  # the part of a page that scrolls sideways


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


@pytest.mark.parametrize("name", LISTS)
def test_a_cell_of_a_list_is_not_wider_than_usual(
    page: Page, thread: Thread, key: ApiKey, name: str
) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(reverse(f"admin:{name}_changelist") + LISTS[name])
    for cell in page.locator("#result_list .data-row > *").all():
        box = cell.bounding_box()
        assert box
        assert box["width"] <= WIDEST_CELL, cell.inner_text()
    page.set_viewport_size({"width": PHONE, "height": 900})
    page.evaluate(SETTLED)
    assert page.evaluate(WIDTH) <= PHONE


def test_the_inbox_shows_all_columns_beside_the_menu(page: Page, thread: Thread) -> None:
    Thread.objects.filter(pk=thread.pk).update(
        escalated=True,
        important=True,
        unread_messages_count=100,
        waiting_since=timezone.now() - timedelta(hours=1),
    )
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(reverse("admin:conversations_thread_changelist") + INBOX)
    expect(page.get_by_role("cell", name="escalated, important")).to_be_visible()
    assert not page.locator(LIST).evaluate(SPILLS)


def test_a_quoted_message_takes_up_the_space_that_is_left(page: Page, shop: Chatbot) -> None:
    MessageFactory(
        thread=ThreadFactory(chatbot=shop),
        content="Can I change the address? The parcel leaves today.",
    )
    page.set_viewport_size({"width": DESK, "height": 900})
    page.goto(reverse("admin:conversations_thread_changelist") + INBOX)
    box = page.locator(".field-last_words a").bounding_box()
    assert box
    assert box["height"] < 30


def test_a_message_without_spaces_is_laid_out_quickly(page: Page, shop: Chatbot) -> None:
    thread = ThreadFactory(chatbot=shop)
    MessageFactory(thread=thread, content="A" * LONG)
    began = time.monotonic()
    page.goto(reverse("admin:conversations_thread_change", args=[thread.pk]))
    page.evaluate("document.body.offsetHeight")
    assert time.monotonic() - began < 7


def test_an_ordinary_row_of_the_inbox_takes_one_line(page: Page, shop: Chatbot) -> None:
    thread = ThreadFactory(
        chatbot=shop, tags=["shipping"], escalated=True, important=True, unread_messages_count=2
    )
    MessageFactory(thread=thread, content="I was charged twice and no one answers my emails.")
    page.set_viewport_size({"width": DESK, "height": 900})
    page.goto(reverse("admin:conversations_thread_changelist") + INBOX)
    tag, row = page.locator(".tag"), page.locator("#result_list .data-row")
    for one, highest in ((tag, 30), (row, 50)):
        box = one.bounding_box()
        assert box
        assert box["height"] < highest, one.inner_text()


def test_a_short_tag_beside_a_long_one_is_not_broken(page: Page, thread: Thread) -> None:
    page.set_viewport_size({"width": PHONE, "height": 900})
    page.goto(reverse("admin:conversations_thread_changelist") + INBOX)
    box = page.locator(".tag", has_text="billing").bounding_box()
    assert box
    assert box["height"] < 30


def test_a_search_result_fits_its_panel(page: Page, thread: Thread) -> None:
    page.set_viewport_size({"width": PHONE, "height": 900})
    page.goto("/admin/")
    page.keyboard.press("Control+k")
    page.get_by_role("dialog", name="Search").get_by_role("searchbox").fill(WORD[:20])
    found = page.locator("#command-results-list a", has_text=WORD)
    expect(found).to_be_visible()
    assert not found.evaluate(SPILLS)
