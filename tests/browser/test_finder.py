"""The search that Ctrl+K opens, and the menu's link back to the last inbox view."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from chatbots.models import Chatbot
from conversations.models import Thread
from tests.browser.crawl import WIDTH
from tests.factories.conversations import ThreadFactory, VisitorFactory

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}


@pytest.fixture
def thread(shop: Chatbot) -> Thread:
    return ThreadFactory(chatbot=shop, visitor=VisitorFactory(chatbot=shop, name="Anna Berg"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "scheme"), [pytest.param(DESK, "light", marks=pytest.mark.slow), (PHONE, "dark")]
)
def test_pages_are_found_and_opened_with_the_keyboard(
    page: Page, thread: Thread, size: dict[str, int], scheme: str
) -> None:
    page.set_viewport_size(size)  # type: ignore[arg-type]  # a literal
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a literal
    page.goto("/admin/accounts/plan/")
    dialog = page.get_by_role("dialog", name="Search")
    field = dialog.get_by_role("searchbox")
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.type("nothing at all")
    expect(dialog.get_by_role("status")).to_contain_text("Nothing found")
    page.keyboard.press("Enter")
    field.fill("anna")
    expect(dialog.get_by_role("link", name="Anna Berg")).to_be_visible()
    expect(dialog.get_by_role("status")).to_contain_text("1 result")
    assert page.evaluate(WIDTH) <= size["width"]
    for _ in range(4):  # the focus stays in the dialog
        page.keyboard.press("Tab")
        assert dialog.locator(":focus").count() == 1
    field.focus()
    page.keyboard.press("Enter")
    # This also waits for the load event, because keys have no effect before it
    page.wait_for_url(reverse("admin:conversations_thread_change", args=[thread.pk]))

    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.type("ch")
    expect(dialog.get_by_role("link")).to_have_count(2)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(reverse("admin:accounts_change_changelist"))
