"""The preview's switches show the widget closed, dark, right to left and on a phone."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from chatbots.models import Appearance, Chatbot


@pytest.fixture
def preview(page: Page, shop: Chatbot) -> Locator:
    Appearance.objects.update(enable_dark_mode=False, right_to_left_mode=False)
    page.goto(f"{reverse('admin:chatbots_chatbot_change', args=[shop.pk])}#appearance")
    preview = page.locator("#preview")
    expect(preview).to_be_visible()
    return preview


@pytest.mark.slow
def test_each_switch_of_the_preview_turns_on_and_off(preview: Locator) -> None:
    widget, window = preview.locator("[data-widget]"), preview.locator(".widget-window")
    white = "rgb(255, 255, 255)"

    def press(name: str, *, pressed: bool) -> None:
        button = preview.get_by_role("button", name=name, exact=True)
        button.click()
        expect(button).to_have_attribute("aria-pressed", str(pressed).lower())

    expect(window).to_have_css("background-color", white)
    press("Dark", pressed=True)
    expect(window).not_to_have_css("background-color", white)
    press("Dark", pressed=False)
    expect(window).to_have_css("background-color", white)
    press("Right to left", pressed=True)
    expect(widget).to_have_css("direction", "rtl")
    press("Right to left", pressed=False)
    expect(widget).to_have_css("direction", "ltr")
    wide = window.bounding_box()
    press("Phone", pressed=True)
    narrow = window.bounding_box()
    assert wide
    assert narrow
    assert narrow["width"] < wide["width"]
    press("Phone", pressed=False)
    expect(widget).not_to_have_class(re.compile("phone"))
    press("Open", pressed=False)
    expect(window).to_be_hidden()
    expect(preview.locator(".widget-bubble")).to_be_visible()
    press("Open", pressed=True)
    expect(window).to_be_visible()
