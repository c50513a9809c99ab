"""When a panel or dialog opens, the focus moves into it, stays there, and returns when it closes.

tests/browser/test_every_page.py follows the focus through every page.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from chatbots.models import Chatbot
from conversations.models import Thread
from tests.browser.conftest import page_of
from tests.browser.crawl import DESK, HEIGHT, PHONE, WIDTH, Look
from tests.browser.devices import Keyboard
from tests.factories.conversations import ThreadFactory
from tests.factories.webhooks import DeliveryFactory

ROUNDS = 30  # presses of Tab; no panel has this many controls
WITHIN = "part => part.contains(document.activeElement)"
OUTSIDE = "part => ![document.body, ...part.querySelectorAll('*')].includes(document.activeElement)"
LOG = reverse("admin:webhooks_delivery_changelist")


@dataclass(frozen=True)
class Part:
    """A panel or dialog: its accessible name, the button that opens it, and a page that has it."""

    name: str
    opener: Callable[[Page], Locator]
    page: Callable[[Chatbot], str]


def log(shop: Chatbot) -> str:
    DeliveryFactory(chatbot=shop)
    return LOG


def conversation(shop: Chatbot) -> str:
    return reverse("admin:conversations_thread_change", args=[ThreadFactory(chatbot=shop).pk])


PARTS = (
    Part("Filters", lambda page: page.get_by_role("button", name="Filters"), log),
    Part("Search", lambda page: page.get_by_role("button", name="Search").first, log),
    Part("Keyboard shortcuts", lambda page: page.locator("#shortcuts-open"), conversation),
)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_focus_moves_into_an_open_panel_stays_and_returns(
    page: Page, shop: Chatbot, part: Part
) -> None:
    keyboard = Keyboard(page, Look(DESK, "light"))
    page.goto(part.page(shop))
    opener = part.opener(page)
    keyboard.press(opener)
    dialog = page.get_by_role("dialog", name=part.name)
    expect(dialog).to_be_visible()
    opened = dialog.element_handle()  # finding the dialog by name each time would be slow
    page.wait_for_function(WITHIN, arg=opened)
    for key in ("Tab", "Shift+Tab"):
        for _ in range(ROUNDS):
            page.keyboard.press(key)
            assert not opened.evaluate(OUTSIDE), f"{key} leaves {part.name}"
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()


@pytest.mark.slow
def test_pages_are_found_and_opened_with_the_keyboard(page: Page, thread: Thread) -> None:
    page.set_viewport_size({"width": PHONE, "height": HEIGHT})
    page.emulate_media(color_scheme="dark")
    page.goto("/admin/accounts/plan/")
    dialog = page.get_by_role("dialog", name="Search")
    field = dialog.get_by_role("searchbox")
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.type("nothing at all")
    expect(dialog.get_by_role("status")).to_contain_text("Nothing found")
    field.fill("anna")
    expect(dialog.get_by_role("link", name="Anna Berg")).to_be_visible()
    expect(dialog.get_by_role("status")).to_contain_text("1 result")
    assert page.evaluate(WIDTH) <= PHONE
    page.keyboard.press("Enter")
    # This also waits for the load event, because keys have no effect before it
    page.wait_for_url(page_of(thread))
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.type("ch")
    expect(dialog.get_by_role("link")).to_have_count(2)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(reverse("admin:accounts_change_changelist"))


@pytest.mark.slow
def test_the_menu_on_a_phone_is_opened_and_closed_with_the_keyboard(
    page: Page, shop: Chatbot
) -> None:
    page.set_viewport_size({"width": PHONE, "height": HEIGHT})
    page.goto(LOG)
    keyboard = Keyboard(page, Look(PHONE, "dark"))
    menu = page.locator("#nav-sidebar")
    opener = page.get_by_role("button", name="Menu")
    for _ in range(2):
        keyboard.press(opener)
        expect(menu).to_be_in_viewport()
        page.wait_for_function(WITHIN, arg=menu.element_handle())
        page.keyboard.press("Escape")
        expect(menu).not_to_be_in_viewport()
        expect(opener).to_be_focused()
    keyboard.press(opener)
    keyboard.press(menu.get_by_role("link", name="Leads"))
    expect(page.get_by_role("heading", name="Leads")).to_be_visible()
