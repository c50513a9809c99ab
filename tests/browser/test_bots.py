"""The owner of a bot changes what it says and how it looks, in a browser."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from chatbots.models import Appearance, Chatbot, FollowUpPrompt, Instruction
from tests.browser.crawl import PHONE
from tests.browser.devices import Device, drag
from tests.factories.chatbots import (
    FollowUpPromptFactory,
    InstructionFactory,
    LocalizationFactory,
)

TABS = (
    *("General", "Behavior", "Appearance", "Texts", "Instructions", "Personas"),
    *("Follow-up prompts", "Lead settings", "Conversation starters", "Members"),
)


@pytest.fixture
def instruction(shop: Chatbot) -> Instruction:
    return InstructionFactory(
        chatbot=shop, title="Support", instruction="Be brief.\nBe kind.", is_active=True
    )


def bot_page(shop: Chatbot, tab: str) -> str:
    return f"{reverse('admin:chatbots_chatbot_change', args=[shop.pk])}#{tab}"


def save(device: Device) -> None:
    device.press(device.page.get_by_role("button", name="Save", exact=True))
    expect(device.page.get_by_text("was changed successfully")).to_be_visible()


@pytest.mark.slow
def test_an_instruction_is_changed_compared_restored_and_tried(
    device: Device, shop: Chatbot, instruction: Instruction
) -> None:
    page = device.page
    for text in ("Be brief.\nBe polite.", "Be brief.\nBe formal."):
        page.goto(bot_page(shop, "instructions"))
        device.press(page.get_by_role("link", name="Support", exact=True))
        device.write(page.get_by_label("Instruction", exact=False).last, text)
        save(device)
    page.goto(reverse("admin:chatbots_instruction_change", args=[instruction.pk]))
    device.press(page.get_by_role("link", name="Versions"))
    expect(page.locator("ins")).to_have_text("+ Be formal.")
    device.check(page.get_by_label("Compare from version 1"))
    device.press(page.get_by_role("button", name="Compare the chosen versions"))
    expect(page.locator("del")).to_have_text("- Be kind.")
    expect(page.get_by_role("cell", name="Kim, admin").first).to_be_visible()
    device.press(page.get_by_role("button", name="Restore this version").last)
    expect(page.get_by_text("Version 1 was restored as version 4")).to_be_visible()
    page.goto(bot_page(shop, "general"))
    device.press(page.get_by_role("link", name="Try it"))
    device.write(page.get_by_label("Message", exact=False).last, "Hello")
    device.press(page.get_by_role("button", name="Ask"))
    expect(page.get_by_label("System message")).to_have_text("Be brief.\nBe kind.")
    expect(page.get_by_role("log")).to_contain_text(re.compile(r"\d+ ms"))


def test_the_preview_follows_the_fields_and_warns_of_unreadable_text(
    device: Device, shop: Chatbot
) -> None:
    page = device.page
    page.goto(bot_page(shop, "appearance"))
    preview = page.get_by_role("complementary", name="Preview of the widget")
    expect(preview).to_contain_text("Hello! How can I help you?")
    device.write(page.get_by_role("textbox", name="Welcome message"), "<b>Ahoy</b>")
    expect(preview).to_contain_text("<b>Ahoy</b>")
    head = preview.locator(".widget-head")
    expect(head).to_have_css("background-color", "rgb(37, 99, 235)")
    color = page.get_by_role("textbox", name="Brand primary color").first
    device.write(color, "#00ff00")
    expect(head).to_have_css("background-color", "rgb(0, 255, 0)")
    # Tests cannot operate the browser's color picker, so they send its input event instead
    page.get_by_label("Pick: Brand primary color").evaluate(
        "picker => { picker.value = '#ffff00'; picker.dispatchEvent(new Event('input')); }"
    )
    expect(color).to_have_value("#ffff00")
    expect(head).to_have_css("background-color", "rgb(255, 255, 0)")
    expect(preview.get_by_role("status")).to_contain_text("contrast 1.1, at least 4.5 is needed")
    window, white = preview.locator(".widget-window"), "rgb(255, 255, 255)"
    expect(window).to_have_css("background-color", white)
    for switch in ("Right to left", "Dark", "Phone"):
        device.press(preview.get_by_role("button", name=switch, exact=True))
    expect(preview.locator(".widget")).to_have_attribute("dir", "rtl")
    expect(preview.locator("[data-widget]")).to_have_class(re.compile("phone"))
    expect(window).not_to_have_css("background-color", white)
    device.press(preview.get_by_role("button", name="Open", exact=True))
    expect(window).to_be_hidden()
    save(device)
    row = Appearance.objects.get(chatbot=shop)
    assert (row.welcome_message, row.brand_primary_color) == ("<b>Ahoy</b>", "#ffff00")
    assert row.right_to_left_mode is False  # the preview's switches are not saved


@pytest.mark.slow
def test_missing_texts_are_found_and_filled(device: Device, shop: Chatbot) -> None:
    page = device.page
    row = LocalizationFactory(chatbot=shop, locale_code="fr", texts={"homeTitle": "Bonjour"})
    page.goto(bot_page(shop, "localizations"))
    device.press(page.get_by_role("link", name="fr", exact=True))
    device.check(page.get_by_label("Missing only"))
    expect(page.get_by_role("textbox", name="homeTitle")).to_be_hidden()
    search = page.get_by_role("searchbox", name="Search the texts")
    device.write(search, "no text has these words")
    expect(page.get_by_text("0 of 124 texts")).to_be_visible()
    device.write(search, "retryButton")
    expect(page.get_by_text("1 of 124 texts")).to_be_visible()
    device.write(page.get_by_role("textbox", name="retryButton"), "Encore")
    save(device)
    row.refresh_from_db()
    assert row.texts == {"homeTitle": "Bonjour", "retryButton": "Encore"}


@pytest.mark.slow
def test_a_follow_up_prompt_shows_only_the_texts_of_its_type(device: Device, shop: Chatbot) -> None:
    page = device.page
    FollowUpPromptFactory(chatbot=shop)
    page.goto(bot_page(shop, "follow_up_prompts"))

    def field(name: str) -> Locator:
        return page.locator(f"[name=follow_up_prompts-0-{name}]")

    title, link = field("button_title"), field("link_text")
    expect(title).to_be_visible()
    expect(link).to_be_hidden()
    device.choose(field("kind"), "Link")
    expect(title).to_be_hidden()
    device.write(link, "Terms")
    device.write(field("link_src"), "https://example.com")
    save(device)
    prompt = FollowUpPrompt.objects.get()
    assert (prompt.link_text, prompt.button_title, prompt.button_message) == ("Terms", "", "")


def shown(page: Page) -> list[str]:
    """Return the titles of the follow-up prompts in their order on the page."""
    fields = page.locator("tbody.form-group:not(.empty-form) [name$=-button_title]")
    return [field.input_value() for field in fields.all()]


def prompts(shop: Chatbot) -> list[str]:
    """Return the titles of the follow-up prompts in their stored order."""
    return list(shop.follow_up_prompts.order_by("rank").values_list("button_title", flat=True))


@pytest.mark.slow
def test_follow_up_prompts_are_ordered_with_alt_and_an_arrow_or_by_dragging(
    device: Device, shop: Chatbot
) -> None:
    page = device.page
    for rank, title in enumerate(("One", "Two", "Three")):
        FollowUpPromptFactory(chatbot=shop, button_title=title, rank=rank)
    page.goto(bot_page(shop, "follow_up_prompts"))
    first = page.locator("[name=follow_up_prompts-0-button_title]")
    device.write(first, "First")
    for key, order in (
        ("Alt+ArrowUp", ["First", "Two", "Three"]),  # already the first
        ("Alt+ArrowDown", ["Two", "First", "Three"]),
    ):
        page.keyboard.press(key)
        assert shown(page) == order
        expect(first).to_be_focused()
    expect(page.get_by_text("Moved to place 2 of 3. Save to keep the order.")).to_be_visible()
    page.set_viewport_size({"width": PHONE, "height": 4_000})  # so that all rows are in view
    titles = page.locator("[name$=-button_title]")
    rows = page.locator("tbody.form-group:not(.empty-form)").filter(has=titles)
    drag(rows.nth(2).locator(".mover"), rows.nth(0), below=False)
    assert shown(page) == ["Three", "Two", "First"]
    assert prompts(shop) == ["One", "Two", "Three"]
    save(device)
    assert prompts(shop) == ["Three", "Two", "First"]


@pytest.mark.slow
def test_every_tab_is_reached_with_the_keyboard(page: Page, shop: Chatbot) -> None:
    page.set_viewport_size({"width": PHONE, "height": 800})  # some of the tabs are in a menu
    page.goto(bot_page(shop, "general"))
    page.wait_for_function("!document.documentElement.hasAttribute('data-starting')")
    page.get_by_role("tab", name="General").focus()
    for name in (*TABS[1:], "General"):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name=name)).to_be_focused()
        expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")


@pytest.mark.slow
def test_a_trial_says_that_another_window_has_unsaved_changes(page: Page, shop: Chatbot) -> None:
    editor = page.context.new_page()
    editor.goto(bot_page(shop, "general"))
    page.goto(reverse("admin:chatbots_chatbot_try", args=[shop.pk]))
    bar = page.get_by_text("unsaved changes to this chatbot")
    expect(page.get_by_text("saved settings").first).to_be_visible()
    expect(bar).to_be_hidden()
    field = editor.locator("[name=name]").first
    for value, answer, unsaved in (
        ("Corner shop", "was changed successfully", False),
        ("", "Please correct the error", True),
    ):
        field.fill(value)
        expect(bar).to_be_visible()
        editor.get_by_role("button", name="Save and continue editing").click()
        expect(editor.get_by_text(answer)).to_be_visible()
        expect(bar).to_be_visible(visible=unsaved)
    editor.close()
    expect(bar).to_be_hidden()
