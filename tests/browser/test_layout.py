"""Charts are drawn, long words wrap, and text in a right-to-left script keeps its direction."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.services import api_key
from chatbots.models import Chatbot
from conversations.models import Thread
from conversations.models.message import MessageType
from tests.browser.crawl import DESK, HEIGHT, PHONE, SETTLED, WIDTH, Look
from tests.browser.scene import figures
from tests.factories.conversations import (
    LeadFactory,
    MessageFactory,
    ThreadFactory,
    VisitorFactory,
)
from tests.factories.webhooks import DeliveryFactory, EndpointFactory

WORD = "Longname" * 25
HEBREW = "שלום!"  # the exclamation mark belongs on the left
# Returns whether the last character of an element's text is to the left of the first one
REVERSED = """one => {
  const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, start = text.data.indexOf("ש");
    if (start < 0) continue;
    const [first, last] = [start, text.data.indexOf("!")].map((place) => {
      const range = document.createRange();
      range.setStart(text, place);
      range.setEnd(text, place + 1);
      return range.getBoundingClientRect().left;
    });
    return last < first;
  }
}"""
# Counts the charts that are not blank
DRAWN = """() => [...document.querySelectorAll("canvas.chart")].filter((canvas) =>
  canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
      .some((value) => value)).length"""
WIDER = "tables => tables.map((table) => table.scrollWidth > table.clientWidth)"


@pytest.mark.slow
@pytest.mark.parametrize("look", [Look(PHONE, "dark"), Look(DESK, "light")], ids=str)
def test_the_charts_are_drawn_and_their_tables_and_lists_are_reached_by_keyboard(
    page: Page, shop: Chatbot, look: Look
) -> None:
    now = timezone.now()
    figures(shop)
    LeadFactory(thread=ThreadFactory(chatbot=shop, escalated=True, waiting_since=now))
    DeliveryFactory(chatbot=shop, state="FAILED", last_code=503)
    EndpointFactory(chatbot=shop, url=f"https://shop.example/{'hook' * 20}", failing_since=now)
    page.set_viewport_size({"width": look.width, "height": HEIGHT})
    page.emulate_media(color_scheme=look.scheme)
    for span in ("1h", "30d"):
        page.goto(f"/admin/?span={span}")
        page.wait_for_function("document.querySelector('canvas.chart').width > 100")
        assert page.evaluate(DRAWN) == 2
        assert page.evaluate(WIDTH) <= look.width
        assert set(page.locator(".wide:visible").evaluate_all(WIDER)) == {False}
    expect(page.get_by_role("img", name="Messages and AI replies, 30 days")).to_be_visible()
    page.locator("summary", has_text="Table: Messages and AI replies").press("Enter")
    expect(page.get_by_role("columnheader", name="Escalations")).to_be_visible()
    page.get_by_role("link", name="leads").last.press("Enter")
    expect(page).to_have_url("/admin/conversations/lead/?since=30d")
    page.go_back()
    page.get_by_role("link", name="deliveries failed").press("Enter")
    expect(page.get_by_role("row", name="503")).to_be_visible()


@pytest.fixture
def thread(shop: Chatbot, request: pytest.FixtureRequest) -> Thread:
    """A thread whose names and texts are all the word that the test is parametrized with."""
    word = request.param
    Chatbot.objects.filter(pk=shop.pk).update(name=word)
    visitor = VisitorFactory(chatbot=shop, name=word, external_id=word)
    thread: Thread = ThreadFactory(chatbot=shop, visitor=visitor, title=word, tags=[word])
    ThreadFactory(chatbot=shop, visitor=visitor, title=word, resolved=True)
    for kind in (MessageType.USER_MESSAGE, MessageType.AGENT_MESSAGE):
        MessageFactory(thread=thread, message_type=kind, content=word, agent_name=word)
    return thread


@pytest.mark.parametrize("thread", [WORD], indirect=True, ids=["long"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_a_page_with_long_words_is_not_wider_than_the_window(
    page: Page, person: User, thread: Thread, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    for name, row in (
        ("conversations_thread_change", thread),
        ("conversations_visitor_change", thread.visitor),
        ("chatbots_chatbot_try", thread.chatbot),
        ("chatbots_chatbot_delete", thread.chatbot),
        ("webhooks_endpoint_of", thread.chatbot),
        ("accounts_apikey_change", api_key.issue(person, label=WORD[:100])[0]),
    ):
        page.goto(reverse(f"admin:{name}", args=[row.pk]))
        page.evaluate(SETTLED)
        assert page.evaluate(WIDTH) <= width, name


@pytest.mark.parametrize("thread", [HEBREW], indirect=True, ids=["hebrew"])
def test_names_and_texts_are_shown_in_their_own_direction(page: Page, thread: Thread) -> None:
    page.goto(reverse("admin:conversations_thread_change", args=[thread.pk]))
    for place in (
        *(".thread-head .who", ".thread-head a[href*=chatbot]", ".by b >> nth=-1"),
        *(".words >> nth=-1", ".about dd >> nth=0", ".tag", ".about li a"),
    ):
        assert page.locator(place).evaluate(REVERSED), place
