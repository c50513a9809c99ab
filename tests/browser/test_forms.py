"""A failed save moves the focus to the first error, and loses no input."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import User
from chatbots.models import Chatbot, Instruction
from conversations.models import Thread
from tests.browser.crawl import DESK, Look
from tests.browser.devices import Device, Mouse
from tests.browser.sessions import end_session, sign_in
from tests.factories.chatbots import InstructionFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.staff import superuser


@pytest.fixture
def instruction(shop: Chatbot) -> Instruction:
    return InstructionFactory(chatbot=shop, title="Support", instruction="Be brief.")


@pytest.fixture
def thread(shop: Chatbot) -> Thread:
    thread = ThreadFactory(chatbot=shop, escalated=True)
    MessageFactory(thread=thread, content="I was charged twice")
    return thread


def change_page(row: Instruction | Thread) -> str:
    return reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_change", args=[row.pk])


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
def test_unsaved_input_is_not_filled_in_for_another_person(
    page: Page, person: User, instruction: Instruction
) -> None:
    page.goto(change_page(instruction))
    text = page.get_by_label("Instruction", exact=False).last
    text.fill("Kim's own words")
    end_session(page)
    page.get_by_role("button", name="Save", exact=True).click()
    sign_in(Mouse(page, Look(DESK, "light")), superuser())
    expect(text).to_have_value("Be brief.")
    expect(page.get_by_text("This was not saved")).to_be_hidden()
    assert page.evaluate("sessionStorage.length") == 0
    end_session(page)
    page.reload()
    sign_in(Mouse(page, Look(DESK, "light")), person)
    expect(text).to_have_value("Be brief.")


def test_unsent_text_survives_a_sign_out(page: Page, person: User, thread: Thread) -> None:
    page.goto(change_page(thread))
    page.get_by_label("Reply as Kim").fill("Let me look")
    page.get_by_label("Notes").fill("Refund her")
    expect(page.get_by_text("Not saved yet.")).to_be_visible()
    page.locator("[x-data*=openUserLinks] > div").first.click()
    page.get_by_role("button", name="Log out").click()
    expect(
        page.get_by_text("Unsent replies and unsaved notes stay in this browser")
    ).to_be_visible()
    page.get_by_role("link", name="Log in again").click()
    sign_in(Mouse(page, Look(DESK, "light")), person)
    page.goto(change_page(thread))
    expect(page.get_by_label("Reply as Kim")).to_have_value("Let me look")
    expect(page.get_by_label("Notes")).to_have_value("Refund her")
