"""The conversation page while an agent reads it: scrolling, shortcut keys, and new messages."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from chatbots.models import Chatbot
from conversations.models import Thread
from conversations.services import history
from tests.browser.crawl import DESK, PHONE
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory

# Returns the element that scrolls the messages. On a phone, this is the whole page. On a desktop,
# it is an element within the page.
SCROLLER = """() => {
    let one = document.getElementById("bubbles");
    while (one && !(one.scrollHeight > one.clientHeight + 100
        && /auto|scroll/.test(getComputedStyle(one).overflowY))) one = one.parentElement;
    return one || document.scrollingElement;
}"""
HEIGHTS = {DESK: 900, PHONE: 844}


@pytest.fixture
def thread(shop: Chatbot) -> Thread:
    visitor = VisitorFactory(chatbot=shop, name="Anna Berg")
    thread = ThreadFactory(chatbot=shop, visitor=visitor)
    for number in range(40):
        MessageFactory(thread=thread, content=f"Question {number}. " * 8)
    return Thread.objects.get(pk=thread.pk)


def open_page(page: Page, thread: Thread) -> None:
    page.goto(reverse("admin:conversations_thread_change", args=[thread.pk]))
    expect(page.get_by_role("log")).to_contain_text("Question 39.")


@pytest.mark.parametrize("width", HEIGHTS)
def test_the_header_and_the_reply_box_stay_in_view(page: Page, thread: Thread, width: int) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
    open_page(page, thread)
    scroller = page.evaluate_handle(SCROLLER)
    for place in ("one => one.scrollTop = 0", "one => one.scrollTop = one.scrollHeight / 2"):
        scroller.evaluate(place)
        expect(page.locator(".thread-head .who")).to_be_in_viewport(ratio=1)
        expect(page.get_by_label("Reply as Kim")).to_be_in_viewport(ratio=1)


@pytest.mark.slow
def test_keys_lead_to_the_notes_and_to_the_previous_waiting_conversation(
    page: Page, shop: Chatbot, thread: Thread
) -> None:
    other = ThreadFactory(chatbot=shop, visitor=VisitorFactory(chatbot=shop, name="Jo"))
    for row, minutes in ((other, 9), (thread, 3)):
        since = timezone.now() - timedelta(minutes=minutes)
        Thread.objects.filter(pk=row.pk).update(escalated=True, waiting_since=since)
    open_page(page, thread)
    page.keyboard.press("n")
    notes = page.get_by_label("Notes")
    expect(notes).to_be_focused()
    page.keyboard.type("kn")
    expect(notes).to_have_value("kn")
    page.locator(".thread-head .who").click()
    page.keyboard.press("k")
    page.wait_for_url(re.compile(str(other.pk)))


@pytest.mark.slow
def test_a_shortcut_key_that_is_held_down_acts_once(page: Page, thread: Thread) -> None:
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else 0)
    open_page(page, thread)
    resolve, reopen = (page.get_by_role("button", name=name) for name in ("Resolve", "Reopen"))
    page.keyboard.down("e")
    expect(reopen).to_be_visible()
    for _ in range(3):
        page.keyboard.down("e")  # counts as a repeat, because the key is still down
    page.keyboard.up("e")
    page.keyboard.press("e")
    expect(resolve).to_be_visible()
    assert len([url for url in posts if "/resolve/" in url]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("width", HEIGHTS)
def test_the_whole_row_of_the_inbox_opens_the_thread(
    page: Page, thread: Thread, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
    for cell in (".field-waits", ".field-chatbot"):
        page.goto(f"{reverse('admin:conversations_thread_changelist')}?view=open")
        box = page.locator(f"#result_list {cell}").bounding_box()
        assert box
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_url(re.compile(str(thread.pk)))
    page.goto(f"{reverse('admin:conversations_thread_changelist')}?view=open")
    page.locator("#result_list input.action-select").check()
    expect(page.locator("#result_list input.action-select")).to_be_checked()


@pytest.mark.slow
def test_a_new_message_does_not_scroll_away_from_older_ones(
    page: Page, thread: Thread, person: User
) -> None:
    open_page(page, thread)
    scroller = page.evaluate_handle(SCROLLER)
    scroller.evaluate("one => one.scrollTop = 200")
    history.append_from_visitor(thread, "Are you there?")
    expect(page.get_by_role("log")).to_contain_text("Are you there?")
    assert scroller.evaluate("one => one.scrollTop") == 200
    expect(page.get_by_text("Are you there?")).not_to_be_in_viewport()
    news = page.get_by_role("button", name="1 new message")
    expect(news).to_be_in_viewport(ratio=1)
    news.click()
    expect(page.get_by_text("Are you there?")).to_be_in_viewport(ratio=1)
    expect(news).to_be_hidden()


def test_a_new_message_does_not_scroll_away_from_the_details_on_a_phone(
    page: Page, thread: Thread
) -> None:
    page.set_viewport_size({"width": PHONE, "height": HEIGHTS[PHONE]})
    open_page(page, thread)
    notes = page.get_by_label("Notes")
    notes.focus()
    history.append_from_visitor(thread, "Are you there?")
    expect(page.get_by_role("log")).to_contain_text("Are you there?")
    expect(notes).to_be_in_viewport(ratio=1)


def test_the_details_stay_in_view_beside_a_long_conversation(page: Page, thread: Thread) -> None:
    page.set_viewport_size({"width": DESK, "height": HEIGHTS[DESK]})
    open_page(page, thread)
    for place in ("0", "document.body.scrollHeight"):
        page.evaluate(f"scrollTo(0, {place})")
        expect(page.get_by_role("heading", name="Visitor")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("width", HEIGHTS)
def test_the_result_of_a_save_is_in_view(page: Page, thread: Thread, width: int) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
    open_page(page, thread)
    page.get_by_label("Notes").fill("Refund agreed")
    page.get_by_role("button", name="Save details").click()
    expect(page.get_by_text("Saved", exact=True)).to_be_in_viewport(ratio=1)
    expect(page.get_by_text("Question 39.")).to_be_in_viewport(ratio=1)
