"""Rows added to a form's lists are kept when the session ends and the person signs in again."""

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from accounts.models import User
from chatbots.models import Chatbot, FollowUpPrompt, LeadSettings
from tests.browser.sessions import submit_without_session
from tests.factories.chatbots import FollowUpPromptFactory

pytestmark = pytest.mark.slow
EXCEPT_ROWS = "back in the form, except rows of a list that has changed."


def open_tab(page: Page, shop: Chatbot, tab: str) -> None:
    page.goto(f"{reverse('admin:chatbots_chatbot_change', args=[shop.pk])}#{tab}")
    page.wait_for_load_state()


def prompt(page: Page, place: int, name: str) -> Locator:
    return page.locator(f"[name=follow_up_prompts-{place}-{name}]")


def add_link(page: Page, place: int, text: str) -> None:
    page.get_by_text("Add follow-up prompt").click()
    prompt(page, place, "kind").select_option(label="Link")
    prompt(page, place, "link_text").fill(text)
    prompt(page, place, "link_src").fill("https://shop.example/terms")


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("was changed successfully")).to_be_visible()


def stored(shop: Chatbot) -> list[str]:
    rows = shop.follow_up_prompts.order_by("created_at", "id")
    return [row.link_text or row.button_title for row in rows]


def test_new_rows_come_back_and_can_be_saved(page: Page, person: User, shop: Chatbot) -> None:
    FollowUpPromptFactory(chatbot=shop, button_title="Prices")
    open_tab(page, shop, "follow_up_prompts")
    prompt(page, 0, "button_title").fill("Costs")
    add_link(page, 1, "Terms")
    add_link(page, 2, "Privacy")
    submit_without_session(page, person, "Save")
    expect(page.get_by_text("back in the form. Save it again.")).to_be_visible()
    page.get_by_role("tab", name="Follow-up prompts").click()
    for place, text in ((1, "Terms"), (2, "Privacy")):
        expect(prompt(page, place, "link_text")).to_be_visible()
        expect(prompt(page, place, "link_text")).to_have_value(text)
        expect(prompt(page, place, "button_title")).to_be_hidden()
    save(page)
    assert stored(shop) == ["Costs", "Terms", "Privacy"]


def test_input_is_not_filled_into_rows_that_another_person_has_added(
    page: Page, person: User, shop: Chatbot
) -> None:
    FollowUpPromptFactory(chatbot=shop, button_title="Prices", rank=0)
    open_tab(page, shop, "follow_up_prompts")
    prompt(page, 0, "button_title").fill("Costs")
    add_link(page, 1, "Terms")
    FollowUpPromptFactory(chatbot=shop, button_title="Theirs", rank=1)
    submit_without_session(page, person, "Save")
    expect(page.get_by_text(EXCEPT_ROWS)).to_be_visible()
    expect(prompt(page, 0, "button_title")).to_have_value("Costs")
    expect(prompt(page, 1, "button_title")).to_have_value("Theirs")
    save(page)
    assert stored(shop) == ["Costs", "Theirs"]


def test_input_is_not_filled_into_the_next_row_if_another_person_has_deleted_one(
    page: Page, person: User, shop: Chatbot
) -> None:
    for rank, title in enumerate(("Prices", "Hours")):
        FollowUpPromptFactory(chatbot=shop, button_title=title, rank=rank)
    open_tab(page, shop, "follow_up_prompts")
    prompt(page, 0, "button_title").fill("Costs")
    add_link(page, 2, "Terms")
    FollowUpPrompt.objects.get(button_title="Prices").delete()
    submit_without_session(page, person, "Save")
    expect(page.get_by_text(EXCEPT_ROWS)).to_be_visible()
    expect(prompt(page, 0, "button_title")).to_have_value("Hours")
    save(page)
    assert stored(shop) == ["Hours", "Terms"]


def test_the_editor_of_a_new_lead_form_shows_its_fields_again(
    page: Page, person: User, shop: Chatbot
) -> None:
    open_tab(page, shop, "leadsettings")
    page.get_by_text("Add lead settings").click()
    page.get_by_role("button", name="Add a field").click()
    page.locator(".lead-field").get_by_label("Label").fill("Order number")
    submit_without_session(page, person, "Save")
    page.get_by_role("tab", name="Lead settings").click()
    label = page.locator(".lead-field").get_by_label("Label")
    expect(label).to_have_value("Order number")
    label.fill("Order")
    save(page)
    [field] = LeadSettings.objects.get(chatbot=shop).customer_form_field
    assert field["display_label"] == "Order"
