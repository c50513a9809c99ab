"""The tabs of a form. In a narrow window, some tabs are in a menu."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from chatbots.models import Chatbot
from tests.browser.crawl import PHONE

TABS = (
    *("General", "Behavior", "Appearance", "Texts", "Instructions", "Personas"),
    *("Follow-up prompts", "Lead settings", "Conversation starters", "Members"),
)


@pytest.fixture
def form(page: Page, shop: Chatbot) -> Page:
    page.set_viewport_size({"width": PHONE, "height": 800})
    page.goto(reverse("admin:chatbots_chatbot_change", args=[shop.pk]))
    page.wait_for_function("!document.documentElement.hasAttribute('x-cloak')")
    return page


@pytest.mark.slow
def test_every_tab_is_reached_with_the_keyboard(form: Page) -> None:
    form.get_by_role("tab", name="General").focus()
    for name in TABS[1:]:
        form.keyboard.press("ArrowRight")
        expect(form.get_by_role("tab", name=name)).to_be_focused()
        expect(form.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
    form.keyboard.press("ArrowRight")
    expect(form.get_by_role("tab", name="General")).to_be_focused()
