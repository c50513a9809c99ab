"""Signing in and filling in forms: no input is lost, and a double click submits only once."""

import re
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Request, expect

from accounts.models import User
from chatbots.models import Chatbot, Instruction
from tests.browser.conftest import PASSWORD, end_session, sign_in
from tests.browser.crawl import DESK, Look
from tests.browser.devices import Device
from tests.factories.chatbots import ChatbotFactory, InstructionFactory
from tests.factories.staff import superuser

SLOW = {"offline": False, "latency": 600, "downloadThroughput": -1, "uploadThroughput": -1}


@pytest.fixture
def instruction(shop: Chatbot) -> Instruction:
    return InstructionFactory(chatbot=shop, title="Support", instruction="Be brief.")


def change_page(row: Instruction) -> str:
    return reverse("admin:chatbots_instruction_change", args=[row.pk])


@pytest.mark.slow
def test_a_failed_save_moves_the_focus_to_the_first_error(device: Device, shop: Chatbot) -> None:
    page = device.page
    page.goto(f"{reverse('admin:chatbots_chatbot_change', args=[shop.pk])}#appearance")
    colors = [
        page.get_by_role("textbox", name=f"Brand {name} color").first
        for name in ("text", "primary")
    ]
    for color in colors:
        device.write(color, "red")
    device.press(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("Please correct the errors below")).to_be_visible()
    expect(page.locator("[role=tab]", has_text="Appearance")).to_have_text("Appearance 2 errors")
    expect(colors[1]).to_be_focused()
    expect(colors[1]).to_be_in_viewport()


@pytest.mark.slow
def test_the_text_of_a_form_survives_the_end_of_the_session(
    device: Device, person: User, instruction: Instruction
) -> None:
    page = device.page
    page.goto(change_page(instruction))
    text = page.get_by_label("Instruction", exact=False).last
    device.write(text, "Be kind.")
    end_session(page)
    device.press(page.get_by_role("button", name="Save", exact=True))
    sign_in(device, person)
    expect(page.get_by_text("This was not saved")).to_be_visible()
    expect(text).to_have_value("Be kind.")
    assert Instruction.objects.get().instruction == "Be brief."
    device.press(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    assert Instruction.objects.get().instruction == "Be kind."
    page.goto(change_page(instruction))
    expect(page.get_by_text("This was not saved")).to_be_hidden()


@pytest.mark.slow
def test_neither_another_person_nor_a_secret_field_gets_unsaved_input_back(
    page: Page, person: User, shop: Chatbot, instruction: Instruction
) -> None:
    mouse = Device(page, Look(DESK, "light"))
    page.goto(change_page(instruction))
    text = page.get_by_label("Instruction", exact=False).last
    text.fill("Kim's own words")
    end_session(page)
    page.get_by_role("button", name="Save", exact=True).click()
    sign_in(mouse, superuser())
    expect(text).to_have_value("Be brief.")
    assert page.evaluate("sessionStorage.length") == 0

    page.goto(reverse("admin:webhooks_endpoint_of", args=[shop.pk]))
    page.get_by_label("Use my own").check()
    page.get_by_label("Own secret").fill("a-secret-of-my-own")
    end_session(page)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("Password")).to_be_visible()
    assert "a-secret-of-my-own" not in page.evaluate("JSON.stringify(sessionStorage)")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The rate limits' clock, which stands still until a test advances it."""
    clock = SimpleNamespace(now=time.time(), monotonic=time.monotonic, sleep=time.sleep)
    clock.time = lambda: clock.now
    monkeypatch.setattr("django_ratelimit.core.time", clock)
    return clock


def test_after_five_wrong_passwords_a_user_waits_and_signs_in(
    device: Device, person: User, clock: SimpleNamespace
) -> None:
    page = device.page
    end_session(page)
    page.goto("/admin/login/")
    device.write(page.get_by_label("Email"), person.email.upper())
    for _ in range(5):
        with page.expect_response(re.compile("/admin/login/")):
            device.write(page.get_by_label("Password"), "wrong")
            device.press(page.get_by_role("button", name="Log in"))
        expect(page.get_by_text("Wrong email or password.")).to_be_visible()
    sign_in(device, person)
    refused = page.get_by_text("Too many attempts. Try again in")
    [minutes] = re.findall(r"in (\d+) min", refused.inner_text())
    clock.now += int(minutes) * 60
    sign_in(device, person)
    expect(page.get_by_role("heading", name="Home")).to_be_visible()


def add_prompt(page: Page, kim: User, shop: Chatbot) -> None:
    tab = f"{reverse('admin:chatbots_chatbot_change', args=[shop.pk])}#follow_up_prompts"
    page.goto(tab)
    page.get_by_text("Add follow-up prompt").click()
    page.locator("[name=follow_up_prompts-0-button_title]").fill("Prices")
    page.locator("[name=follow_up_prompts-0-button_message]").fill("What does it cost?")


def delete_chatbot(page: Page, kim: User, shop: Chatbot) -> None:
    page.goto(reverse("admin:chatbots_chatbot_delete", args=[ChatbotFactory(name="Old").pk]))
    page.get_by_label("To confirm, type the name").fill("Old")


def open_sign_in(page: Page, kim: User, shop: Chatbot) -> None:
    kim.set_password(PASSWORD)
    kim.save()
    end_session(page)
    page.goto("/admin/")
    page.get_by_label("Email").fill(kim.email)
    page.get_by_label("Password").fill(PASSWORD)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prepare", "button", "words"),
    [
        (add_prompt, "Save", "was changed successfully"),
        (delete_chatbot, "Delete", "was deleted"),
        (open_sign_in, "Log in", "Waiting for a person"),
    ],
)
def test_a_double_click_submits_a_form_once(
    page: Page,
    person: User,
    shop: Chatbot,
    prepare: Callable[[Page, User, Chatbot], None],
    button: str,
    words: str,
) -> None:
    """The second click comes before the response to the first."""

    def posts(request: Request) -> bool:
        return request.method == "POST"

    prepare(page, person, shop)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if posts(request) else None)
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", SLOW)
    control = page.get_by_role("button", name=button, exact=True)
    control.scroll_into_view_if_needed()
    box = control.bounding_box()
    assert box
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    with page.expect_request(posts):
        page.mouse.click(*place)
    page.mouse.click(*place)
    expect(page.get_by_text(words).first).to_be_visible()
    assert len(sent) == 1
