"""A failed save moves the focus to the first error, and loses no input."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import User
from chatbots.models import Chatbot, Instruction
from conversations.models import Thread
from tests.browser.crawl import DESK, Look
from tests.browser.devices import Device, Mouse
from tests.browser.sessions import end_session, sign_in, submit_without_session
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import FollowUpPromptFactory, InstructionFactory
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
def test_a_row_that_a_colleague_deletes_is_named_and_then_left_out(
    device: Device, shop: Chatbot
) -> None:
    page = device.page
    prompt = FollowUpPromptFactory(chatbot=shop, rank=1)
    kept = FollowUpPromptFactory(chatbot=shop, rank=2)
    page.goto(f"{reverse('admin:chatbots_chatbot_change', args=[shop.pk])}#follow_up_prompts")
    title = page.locator("[name=follow_up_prompts-0-button_title]")
    device.write(title, "Mine")
    prompt.delete()
    device.press(page.get_by_role("button", name="Save", exact=True))
    row = page.locator("tbody.form-group").filter(has=title)
    expect(row.get_by_text("Deleted while you were editing. Save again to")).to_be_visible()
    expect(page.locator("[role=tab]", has_text="Follow-up")).to_contain_text("1 error")
    expect(title).to_have_value("Mine")
    device.press(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    assert list(shop.follow_up_prompts.all()) == [kept]


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


@pytest.mark.slow
def test_an_agent_whose_session_has_ended_signs_in_and_comes_back_to_the_conversation(
    device: Device, person: User, thread: Thread
) -> None:
    page = device.page
    # A real poll could detect the end of the session before the form is submitted
    page.route(re.compile("/messages/"), lambda route: route.fulfill(status=304))
    page.goto(change_page(thread))
    notes = page.get_by_label("Notes")
    device.write(notes, "Refund her")
    end_session(page)
    device.press(page.get_by_role("button", name="Save details"))
    sign_in(device, person)
    expect(page.get_by_role("log")).to_contain_text("I was charged twice")
    expect(notes).to_have_value("Refund her")
    device.press(page.get_by_role("button", name="Save details"))
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    assert Thread.objects.get().internal_notes == "Refund her"
    box = page.get_by_label("Reply as Kim")
    device.write(box, "Let me look")
    end_session(page)
    device.press(page.get_by_role("button", name="Send"))
    sign_in(device, person)
    expect(box).to_have_value("Let me look")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "label", "text", "button"),
    [
        ("chatbots_chatbot_add", "Description", "answers questions", "Create"),
        ("accounts_apikey_add", "Label", "build server", "Issue"),
        ("chatbots_chatbot_try", "Message", "Hello?", "Ask"),
        ("webhooks_endpoint_of", "URL", "https://shop.example/hooks", "Save"),
    ],
)
def test_the_text_of_a_page_with_its_own_form_survives_the_end_of_the_session(
    page: Page, person: User, shop: Chatbot, path: str, label: str, text: str, button: str
) -> None:
    page.goto(reverse(f"admin:{path}", args=[] if path.endswith("add") else [shop.pk]))
    field = page.locator("form[method=post]").get_by_label(label).last
    field.fill(text)
    submit_without_session(page, person, button)
    expect(field).to_have_value(text)


@pytest.mark.slow
def test_a_secret_is_not_kept_and_the_page_says_so(page: Page, person: User, shop: Chatbot) -> None:
    page.goto(reverse("admin:webhooks_endpoint_of", args=[shop.pk]))
    page.get_by_label("Use my own").check()
    page.get_by_label("Own secret").fill("a-secret-of-my-own")
    end_session(page)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("Password")).to_be_visible()
    assert "a-secret-of-my-own" not in page.evaluate("JSON.stringify(sessionStorage)")
    sign_in(Mouse(page, Look(DESK, "light")), person)
    expect(page.get_by_text("back in the form, except passwords and secrets.")).to_be_visible()
    expect(page.get_by_label("Use my own")).to_be_checked()
    expect(page.get_by_label("Own secret")).to_have_value("")


@pytest.mark.slow
def test_a_choice_that_a_search_has_found_survives_the_end_of_the_session(
    page: Page, person: User, shop: Chatbot, monkeypatch: pytest.MonkeyPatch
) -> None:
    AccountFactory(name="Aardvark")
    monkeypatch.setattr("config.admin.choices.OFFERED", 1)
    page.goto(f"{reverse('admin:chatbots_chatbot_add')}?account={shop.account_id}")
    account = page.locator("select[name=account]")
    expect(account).to_have_value(str(shop.account_id))
    submit_without_session(page, person, "Create")
    expect(account).to_have_value(str(shop.account_id))
    expect(account.locator("option:checked")).to_have_text(shop.account.name)


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


def test_the_text_of_a_form_survives_an_error_page(page: Page, instruction: Instruction) -> None:
    page = page.context.new_page()  # errors in this window do not fail the test
    page.goto(change_page(instruction))
    text = page.get_by_label("Instruction", exact=False).last
    text.fill("Be kind.")
    page.context.clear_cookies(name="csrftoken")  # as if another sign-in had replaced the token
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="Go back").click()
    expect(text).to_have_value("Be kind.")
    page.close()
