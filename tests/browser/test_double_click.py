"""A double click submits a form only once, and shows the response to that submission."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse
from playwright.sync_api import Locator, Page, Request, Route, expect

from accounts.models import Invitation, User
from accounts.services import api_key
from chatbots.models import Chatbot
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory, PersonaFactory
from tests.factories.webhooks import EndpointFactory

SLOW = {"offline": False, "latency": 150, "downloadThroughput": -1, "uploadThroughput": -1}
WAIT = 10_000  # milliseconds, as in forms.js
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


def issue_key(page: Page, kim: User, shop: Chatbot) -> None:
    page.goto(at("accounts_apikey_add"))


def rotate_key(page: Page, kim: User, shop: Chatbot) -> None:
    key, _ = api_key.issue(kim)
    page.goto(at("accounts_apikey_rotate", key.pk))


def replace_secret(page: Page, kim: User, shop: Chatbot) -> None:
    EndpointFactory(chatbot=shop)
    page.goto(at("webhooks_endpoint_secret", shop.pk) + "?again=1")


def set_up_webhook(page: Page, kim: User, shop: Chatbot) -> None:
    page.goto(at("webhooks_endpoint_of", shop.pk))
    page.get_by_label("URL").fill("https://shop.example/hooks")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prepare", "button"),
    [
        (issue_key, "Issue"),
        (rotate_key, "Rotate"),
        (replace_secret, "Replace the secret"),
        (set_up_webhook, "Save"),
    ],
)
def test_a_secret_that_is_shown_once_is_shown_after_a_double_click(
    page: Page, person: User, shop: Chatbot, prepare: Prepare, button: str
) -> None:
    prepare(page, person, shop)
    click_twice(page, page.get_by_role("button", name=button, exact=True))
    expect(page.get_by_role("button", name="Copy")).to_be_visible()
    assert page.locator("#secret-text").input_value()


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


@pytest.mark.slow
def test_a_form_can_be_submitted_again_if_its_page_stays_or_comes_back(
    page: Page, shop: Chatbot
) -> None:
    sent: list[str] = []

    def answer(route: Route) -> None:
        """Answer a POST with status 204, so that the browser stays on the form's page."""
        if not posts(route.request):
            return route.fallback()
        sent.append(route.request.url)
        return route.fulfill(status=204)

    page.clock.install()
    page.route("**", answer)
    page.goto(at("chatbots_chatbot_delete", shop.pk))
    button = page.get_by_role("button", name="Delete", exact=True)

    def submit() -> None:
        with page.expect_request(posts):
            button.click()

    submit()
    button.click()  # ignored
    page.clock.run_for(WAIT)
    submit()
    # The test browser has no back/forward cache, so the test dispatches the event that a page gets
    # when it is restored from this cache.
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    submit()
    assert len(sent) == 3
