"""The "Try it" page while the bot's settings are edited in another window."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from chatbots.models import Chatbot
from tests.factories.chatbots import InstructionFactory

BAR = "unsaved changes to this chatbot"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chatbot", "instruction"])
def test_a_bar_says_that_another_window_has_unsaved_changes(
    page: Page, shop: Chatbot, name: str
) -> None:
    row = shop if name == "chatbot" else InstructionFactory(chatbot=shop, title="Support")
    editor = page.context.new_page()
    editor.goto(reverse(f"admin:chatbots_{name}_change", args=[row.pk]))
    page.goto(reverse("admin:chatbots_chatbot_try", args=[shop.pk]))
    bar = page.get_by_text(BAR)
    expect(page.get_by_text("saved settings").first).to_be_visible()
    expect(bar).to_be_hidden()
    field = editor.locator("[name=name], [name=title]").first
    field.fill("Corner shop")
    expect(bar).to_be_visible()
    page.reload()
    expect(bar).to_be_visible()
    editor.get_by_role("button", name="Save and continue editing").click()
    expect(editor.get_by_text("was changed successfully")).to_be_visible()
    expect(bar).to_be_hidden()
    field.fill("")
    editor.get_by_role("button", name="Save and continue editing").click()
    expect(editor.get_by_text("Please correct the error")).to_be_visible()
    expect(bar).to_be_visible()
    editor.close()
    expect(bar).to_be_hidden()
