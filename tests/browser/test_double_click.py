"""A double click submits a form only once, and shows the response to that submission."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse
from playwright.sync_api import Locator, Page, Request, expect

from accounts.models import Invitation, User
from chatbots.models import Chatbot
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory, PersonaFactory

SLOW = {"offline": False, "latency": 150, "downloadThroughput": -1, "uploadThroughput": -1}
Prepare = Callable[[Page, User, Chatbot], None]


def at(name: str, *arguments: Any) -> str:
    return reverse(f"admin:{name}", args=arguments)


def posts(request: Request) -> bool:
    return request.method == "POST"


def click_twice(page: Page, button: Locator) -> None:
    """Click a button, and click it again before the response to the first click arrives."""
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", SLOW)
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    with page.expect_request(posts):
        page.mouse.click(*place)
    page.mouse.click(*place)


def add_chatbot(page: Page, kim: User, shop: Chatbot) -> None:
    page.goto(f"{at('chatbots_chatbot_add')}?account={shop.account_id}")
    page.get_by_label("Name").fill("Corner shop")
    page.get_by_label("Description").fill("answers questions")


def add_persona(page: Page, kim: User, shop: Chatbot) -> None:
    page.goto(f"{at('chatbots_persona_add')}?chatbot={shop.pk}")
    page.get_by_label("Title").fill("Expert")


def add_instruction(page: Page, kim: User, shop: Chatbot) -> None:
    page.goto(f"{at('chatbots_instruction_add')}?chatbot={shop.pk}")
    page.get_by_label("Title").fill("Support")
    page.locator("#id_instruction").fill("Be brief.")


def add_prompt(page: Page, kim: User, shop: Chatbot) -> None:
    page.goto(f"{at('chatbots_chatbot_change', shop.pk)}#follow_up_prompts")
    page.get_by_text("Add follow-up prompt").click()
    page.locator("[name=follow_up_prompts-0-button_title]").fill("Prices")
    page.locator("[name=follow_up_prompts-0-button_message]").fill("What does it cost?")


def delete_persona(page: Page, kim: User, shop: Chatbot) -> None:
    page.goto(at("chatbots_persona_delete", PersonaFactory(chatbot=shop).pk))


def delete_chatbot(page: Page, kim: User, shop: Chatbot) -> None:
    page.goto(at("chatbots_chatbot_delete", ChatbotFactory(name="Old").pk))
    page.get_by_label("To confirm, type the name").fill("Old")


def open_invitation(page: Page, kim: User, shop: Chatbot) -> None:
    invitation = Invitation.objects.create(account=AccountFactory(), email="ann@example.com")
    page.goto(invitation.link.removeprefix(settings.PUBLIC_URL))


def open_sign_in(page: Page, kim: User, shop: Chatbot) -> None:
    kim.set_password("correct horse battery")
    kim.save()
    page.context.clear_cookies()
    page.goto("/admin/")
    page.get_by_label("Email").fill(kim.email)
    page.get_by_label("Password").fill("correct horse battery")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prepare", "button", "words"),
    [
        (add_chatbot, "Create", "Try it"),
        (add_persona, "Save", "was added successfully"),
        (add_instruction, "Save", "was added successfully"),
        (add_prompt, "Save", "was changed successfully"),
        (delete_persona, "Yes, I\u2019m sure", "was deleted"),
        (delete_chatbot, "Delete", "was deleted"),
        (open_invitation, "Accept", "You are now a member"),
        (open_sign_in, "Log in", "Waiting for a person"),
    ],
)
def test_a_double_click_submits_a_form_once(
    page: Page, person: User, shop: Chatbot, prepare: Prepare, button: str, words: str
) -> None:
    prepare(page, person, shop)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if posts(request) else None)
    click_twice(page, page.get_by_role("button", name=button, exact=True))
    expect(page.get_by_text(words).first).to_be_visible()
    assert len(sent) == 1
