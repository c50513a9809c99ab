"""Forms and lists work even if the browser runs no scripts or cannot load them."""

import re
from collections.abc import Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from accounts.models import User
from chatbots.models import Chatbot
from conversations.models import CannedReply, Message
from tests.browser.conftest import PATIENCE, end_session, send_button
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery

PASSWORD = "correct horse battery"


@pytest.fixture
def plain(browser: Browser, live_server: object, person: User) -> Iterator[Page]:
    """A window with scripts disabled, in which Kim has signed in through the form."""
    person.set_password(PASSWORD)
    person.save()
    context = browser.new_context(base_url=str(live_server), java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto("/admin/")
    page.get_by_label("Email").fill(person.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    yield page
    context.close()


@pytest.mark.parametrize("signed_in", [False, True])
def test_a_page_is_shown_before_its_scripts_have_loaded(
    page: Page, shop: Chatbot, signed_in: bool
) -> None:
    """Only theme.js, which sets the colors, arrives. The other scripts never do."""
    page.route(re.compile(r"/(?!theme)[\w.]+\.js"), lambda route: None)
    if signed_in:
        page.goto("/admin/", wait_until="commit")
        expect(page.get_by_role("heading", name="Home")).to_be_visible()
    else:
        end_session(page)
        page.goto("/admin/login/", wait_until="commit")
        expect(page.get_by_label("Email")).to_be_focused()


@pytest.mark.slow
def test_the_menu_leads_to_lists_and_a_user_signs_out(plain: Page, shop: Chatbot) -> None:
    plain.locator("#nav-sidebar").get_by_text("Chatbots", exact=True).last.click()
    expect(plain.get_by_role("link", name="Shop")).to_be_visible()
    plain.get_by_role("button", name="Log out").click()
    plain.goto("/admin/")
    expect(plain.get_by_role("button", name="Log in")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_a_list_is_filtered_and_an_action_runs(plain: Page, shop: Chatbot, width: int) -> None:
    DeliveryFactory(chatbot=shop, state="SUCCESS", due_at=None)
    failed = DeliveryFactory(chatbot=shop, state="FAILED", due_at=None)
    plain.set_viewport_size({"width": width, "height": 900})
    plain.goto(reverse("admin:webhooks_delivery_changelist"))
    plain.locator("#changelist-filter select[name^=state]").select_option("FAILED")
    plain.get_by_role("button", name="Apply Filters").click()
    rows = plain.locator("input[name=_selected_action]")
    expect(rows).to_have_count(1)
    rows.check()
    plain.locator("select[name=action]").select_option("retry_selected")
    plain.get_by_role("button", name="Run").click()
    expect(plain.get_by_text("Retry queued")).to_be_visible()
    assert Delivery.objects.get(pk=failed.pk).due_at is not None


@pytest.mark.slow
def test_every_section_of_a_form_is_open_and_the_form_is_saved(plain: Page, shop: Chatbot) -> None:
    plain.goto(reverse("admin:chatbots_chatbot_change", args=[shop.pk]))
    plain.get_by_label("Name", exact=False).first.fill("Corner shop")
    expect(plain.get_by_label("Welcome message").first).to_be_visible()
    for section in ("Behavior", "Appearance", "Follow-up prompts", "Members"):
        expect(plain.get_by_role("heading", name=section)).to_be_visible()
    plain.get_by_role("button", name="Save", exact=True).click()
    assert Chatbot.objects.get(pk=shop.pk).name == "Corner shop"


@pytest.mark.slow
def test_an_agent_answers(plain: Page, shop: Chatbot) -> None:
    thread = ThreadFactory(chatbot=shop, escalated=True)
    CannedReply.objects.create(account=shop.account, name="look", text="Let me look")
    MessageFactory(thread=thread, content="I was charged twice")
    plain.goto(reverse("admin:conversations_thread_change", args=[thread.pk]))
    plain.get_by_text("Internal note").first.click()
    plain.get_by_label("Internal note").fill("A refund")
    plain.get_by_role("button", name="Add note").click()
    expect(plain.get_by_role("log")).to_contain_text("A refund")
    plain.get_by_text("Canned replies", exact=True).last.click()
    plain.get_by_role("link", name="/look").click()
    send_button(plain).click()
    expect(plain.get_by_role("log")).to_contain_text("Let me look")
    assert Message.objects.get(message_type="AGENT_MESSAGE").content == "Let me look"
