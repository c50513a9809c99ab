"""Escape puts back a row that is being dragged."""

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from chatbots.models import Chatbot
from tests.factories.chatbots import FollowUpPromptFactory

TITLES = ("One", "Two", "Three")


@pytest.fixture
def tab(page: Page, shop: Chatbot) -> Page:
    """The "Follow-up prompts" tab, with all three rows in view."""
    for rank, title in enumerate(TITLES):
        FollowUpPromptFactory(chatbot=shop, button_title=title, rank=rank)
    page.set_viewport_size({"width": 1440, "height": 2_000})
    page.goto(f"{reverse('admin:chatbots_chatbot_change', args=[shop.pk])}#follow_up_prompts")
    return page


def row(page: Page, title: str) -> Locator:
    name = f"[name=follow_up_prompts-{TITLES.index(title)}-button_title]"
    return page.locator("tbody.form-group").filter(has=page.locator(name))


def shown(page: Page) -> list[str]:
    fields = page.locator("tbody.form-group:not(.empty-form) [name$=-button_title]")
    return [field.input_value() for field in fields.all()]


@pytest.mark.slow
def test_escape_puts_a_dragged_row_back(tab: Page) -> None:
    ranks = tab.locator("tbody.form-group:not(.empty-form) [name$=-rank]")
    before = [field.input_value() for field in ranks.all()]
    row(tab, "One").locator(".mover").hover()
    tab.mouse.down()
    box = row(tab, "Two").bounding_box()
    assert box
    for part in (0.5, 0.9):
        tab.mouse.move(box["x"] + 20, box["y"] + box["height"] * part, steps=4)
    assert shown(tab) == ["Two", "One", "Three"]
    tab.keyboard.press("Escape")
    tab.mouse.up()
    assert shown(tab) == list(TITLES)
    assert [field.input_value() for field in ranks.all()] == before
    expect(tab.locator(".order-status").first).to_be_empty()
