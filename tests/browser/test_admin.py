"""Staff at work in a browser: conversations, chatbots, deliveries and keys."""

import re
from contextlib import suppress

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Error, Page, Route, expect

from accounts.models import ApiKey
from chatbots.models import Chatbot
from conversations.models import Message, Thread
from conversations.services import agent_message
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}


@pytest.fixture
def thread(shop: Chatbot) -> Thread:
    visitor = VisitorFactory(chatbot=shop, name="Anna Berg")
    thread = ThreadFactory(
        chatbot=shop, visitor=visitor, escalated=True, waiting_since=timezone.now()
    )
    MessageFactory(thread=thread, content="I was charged twice")
    return thread


def address(thread: Thread) -> str:
    return reverse("admin:conversations_thread_change", args=[thread.pk])


@pytest.mark.slow
def test_an_agent_finds_a_waiting_visitor_and_answers(page: Page, thread: Thread) -> None:
    page.goto("/admin/")
    page.get_by_role("link", name="waiting for a person").click()
    page.get_by_role("link", name="I was charged twice").click()
    expect(page.get_by_role("log")).to_contain_text("I was charged twice")
    page.wait_for_load_state()  # the page handles keys only after its scripts have loaded
    box = page.get_by_label("Reply as Kim")
    box.fill("Let me look")
    box.press("Control+Enter")
    expect(page.get_by_role("log")).to_contain_text("Let me look")
    expect(page.get_by_label("Reply as Kim")).to_have_value("")
    message = Message.objects.get(message_type="AGENT_MESSAGE")
    assert (message.content, message.agent_name) == ("Let me look", "Kim")


def test_a_new_message_appears_automatically_and_typed_text_stays(
    page: Page, thread: Thread
) -> None:
    page.goto(address(thread))
    page.get_by_label("Reply as Kim").fill("half a sent")
    agent_message.answer(
        thread.pk, agent=thread.chatbot.account.owner, content="A colleague is here"
    )
    expect(page.get_by_role("log")).to_contain_text("A colleague is here")
    expect(page.get_by_label("Reply as Kim")).to_have_value("half a sent")
    page.reload()
    expect(page.get_by_label("Reply as Kim")).to_have_value("half a sent")


@pytest.mark.slow
def test_an_answer_that_was_not_stored_is_still_in_the_box(page: Page, thread: Thread) -> None:
    page.goto(address(thread))
    page.get_by_label("Reply as Kim").fill("Let me look")
    page.route("**/reply/", lambda route: route.abort())
    with suppress(Error):  # navigation fails, and the browser shows its own error page
        page.get_by_role("button", name="Send").click()
    page.wait_for_url("chrome-error://**")
    page.unroute("**/reply/")
    page.goto(address(thread))
    box = page.get_by_label("Reply as Kim")
    expect(box).to_have_value("Let me look")
    box.press("Control+Enter")
    expect(page.get_by_role("log")).to_contain_text("Let me look")
    expect(page.get_by_label("Reply as Kim")).to_have_value("")
    page.reload()
    expect(page.get_by_label("Reply as Kim")).to_have_value("")
    assert Message.objects.filter(message_type="AGENT_MESSAGE").count() == 1


def test_an_answer_whose_confirmation_was_lost_is_shown_and_sent_once(
    page: Page, thread: Thread
) -> None:
    def lose(route: Route) -> None:
        route.fetch(max_redirects=0)
        route.abort()

    page.goto(address(thread))
    page.get_by_label("Reply as Kim").fill("Let me look")
    page.route("**/reply/", lose)
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("chrome-error://**")
    page.unroute("**/reply/")
    page.goto(address(thread))
    expect(page.get_by_role("log")).to_contain_text("Let me look")
    expect(page.get_by_label("Reply as Kim")).to_have_value("")
    assert Message.objects.filter(message_type="AGENT_MESSAGE").count() == 1


def test_typed_text_survives_the_end_of_the_session(page: Page, thread: Thread) -> None:
    page.goto(address(thread))
    page.get_by_label("Reply as Kim").fill("half a sentence")
    session = page.context.cookies()
    page.context.clear_cookies()
    page.goto(address(thread))
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    page.context.add_cookies(session)
    page.goto(address(thread))
    expect(page.get_by_label("Reply as Kim")).to_have_value("half a sentence")


@pytest.mark.slow
def test_a_chatbot_is_deleted_after_its_name_is_typed(page: Page, thread: Thread) -> None:
    page.goto(reverse("admin:chatbots_chatbot_change", args=[thread.chatbot_id]))
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_text("and cannot be undone")).to_be_visible()
    page.get_by_label("To confirm, type the name: Shop").fill("Shop")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The chatbot was deleted")).to_be_visible()
    assert not Chatbot.objects.exists()


def test_an_open_page_marks_its_messages_as_read(page: Page, thread: Thread) -> None:
    Thread.objects.filter(pk=thread.pk).update(unread_messages_count=1)
    with page.expect_response(re.compile("/seen/$")) as seen:
        page.goto(address(thread))
    assert seen.value.status == 204
    assert Thread.objects.get(pk=thread.pk).unread_messages_count == 0


@pytest.mark.slow
def test_an_integrator_retries_a_failed_delivery(page: Page, shop: Chatbot) -> None:
    failed = DeliveryFactory(chatbot=shop, state="FAILED", due_at=None, last_code=503, last_ms=41)
    page.goto("/admin/")
    page.get_by_role("link", name="deliveries failed").click()
    page.locator("#result_list a").first.click()
    page.get_by_role("button", name="Retry now").click()
    expect(page.get_by_text("It will be tried once more")).to_be_visible()
    assert Delivery.objects.get(pk=failed.pk).due_at is not None


def test_selected_deliveries_are_retried_from_the_list(page: Page, shop: Chatbot) -> None:
    DeliveryFactory(chatbot=shop, state="FAILED", due_at=None)
    DeliveryFactory(chatbot=shop, state="SUCCESS", due_at=None)
    page.goto(reverse("admin:webhooks_delivery_changelist"))
    page.get_by_label("Select all objects on this page for an action").check()
    page.get_by_label("Select action to run").select_option("retry_selected")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("1 will be tried once more")).to_be_visible()
    expect(page.get_by_text("1 skipped")).to_be_visible()


def test_a_new_key_is_gone_after_a_reload(page: Page) -> None:
    page.goto(reverse("admin:accounts_apikey_add"))
    page.get_by_role("button", name="Issue").click()
    key = page.get_by_label("API key").input_value()
    assert key.startswith("cbk_")
    page.reload()
    assert key not in page.content()
    assert ApiKey.objects.count() == 1
    page.go_back()
    assert key not in page.content()
