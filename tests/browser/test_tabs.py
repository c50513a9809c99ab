"""The tabs of a form. In a narrow window, some tabs are in a menu."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from chatbots.models import Chatbot
from tests.browser.crawl import DESK, PHONE

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


def names(page: Page, place: str) -> list[str]:
    return [text.strip() for text in page.locator(f"{place} > a").all_text_contents()]


@pytest.mark.slow
def test_the_menu_lists_the_other_tabs_in_their_order(form: Page) -> None:
    first, others = names(form, "#tabs-items"), names(form, "#tabs-dropdown")
    assert first
    assert others
    assert (*first, *others) == TABS
    form.get_by_role("button", name="More tabs").click()
    expect(form.get_by_role("tab", name="Members")).to_be_visible()
    form.get_by_role("link", name="Try it").focus()
    expect(form.get_by_role("tab", name="Members")).to_be_hidden()


def test_choosing_a_tab_closes_the_menu_and_marks_its_button(form: Page) -> None:
    more = form.get_by_role("button", name="More tabs")
    color = "button => getComputedStyle(button).borderColor"
    before = more.evaluate(color)
    more.click()
    form.get_by_role("tab", name="Members").click()
    expect(form.get_by_text("can use every chatbot, so they are not listed")).to_be_visible()
    expect(form.get_by_role("tab", name="Members")).to_be_hidden()
    expect(more).to_be_focused()
    assert more.evaluate(color) != before
    form.get_by_role("tab", name="General").click()
    assert more.evaluate(color) == before


@pytest.mark.slow
def test_a_wider_window_shows_all_tabs_outside_the_menu(form: Page) -> None:
    form.set_viewport_size({"width": DESK, "height": 800})
    expect(form.get_by_role("button", name="More tabs")).to_be_hidden()
    assert names(form, "#tabs-items") == list(TABS)
    form.set_viewport_size({"width": PHONE, "height": 800})
    expect(form.get_by_role("button", name="More tabs")).to_be_visible()
    assert (*names(form, "#tabs-items"), *names(form, "#tabs-dropdown")) == TABS


@pytest.mark.slow
def test_every_tab_is_reached_with_the_keyboard(form: Page) -> None:
    form.get_by_role("tab", name="General").focus()
    for name in TABS[1:]:
        form.keyboard.press("ArrowRight")
        expect(form.get_by_role("tab", name=name)).to_be_focused()
        expect(form.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
    form.keyboard.press("ArrowRight")
    expect(form.get_by_role("tab", name="General")).to_be_focused()
