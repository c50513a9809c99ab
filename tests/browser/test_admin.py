"""Staff at work in a browser: conversations, chatbots, deliveries and keys."""

import re
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Error, Page, Route, expect

from accounts.models import ApiKey, Change, Usage, User
from accounts.quotas import month_of
from chatbots.models import Chatbot
from config.durations import ONE_HOUR
from config.outbound.failures import Reason
from conversations.models import Message, Thread
from conversations.services import agent_message
from tests.browser.crawl import SETTLED, WIDTH
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}

# Returns the distinct vertical centers of the visible cells of a row, in units of 10 px. There is
# only one if the cells are side by side.
MIDDLES = """row => [...new Set([...row.children].map(cell => cell.getBoundingClientRect())
  .filter(box => box.width).map(box => Math.round((box.y + box.height / 2) / 10)))]"""
# Returns the number of lines that an element's text takes up
LINES = """one => {
  const range = document.createRange();
  range.selectNodeContents(one);
  return new Set([...range.getClientRects()].map(box => Math.round(box.y / 10))).size;
}"""


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


def test_the_time_of_a_delivery_fits_on_one_line_and_the_list_fits_the_page(
    page: Page, shop: Chatbot
) -> None:
    detail = "the receiver said nothing at all, and then it was gone for good"
    DeliveryFactory(
        chatbot=shop,
        state="RETRYING",
        event="CONVERSATION_ESCALATED",
        last_reason=Reason.CONNECTION_FAILED,
        last_detail=detail,
    )
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(reverse("admin:webhooks_delivery_changelist"))
    created = page.locator("#result_list time").first
    assert created.evaluate("time => time.getClientRects().length") == 1
    table = page.locator("#result_list")
    assert table.evaluate("t => t.offsetWidth <= t.parentElement.clientWidth")


def test_a_delivery_takes_two_lines_on_a_phone(page: Page, shop: Chatbot) -> None:
    Chatbot.objects.filter(pk=shop.pk).update(name="The corner shop of Harbor Street")
    made: list[dict[str, Any]] = [
        {"state": "RETRYING", "last_reason": Reason.TIMEOUT, "due_at": timezone.now() + ONE_HOUR},
        {"state": "FAILED", "last_code": 503, "last_ms": 9_876, "due_at": None},
        {"state": "FAILED", "last_reason": Reason.CONNECTION_FAILED, "due_at": None},
        {"state": "PENDING", "is_test": True},
    ]
    for row in made:
        DeliveryFactory(chatbot=shop, event="CONVERSATION_ESCALATED", **row)
    page.set_viewport_size(PHONE)
    page.goto(reverse("admin:webhooks_delivery_changelist"))
    rows = page.locator("#result_list .data-row")
    expect(rows).to_have_count(len(made))
    for row in rows.all():
        middles = row.evaluate(MIDDLES)
        assert len(middles) == 2, (row.inner_text(), middles)
        assert row.evaluate("row => row.scrollWidth <= row.clientWidth")


def test_a_long_cell_is_not_cut_off_on_a_phone(page: Page, person: User) -> None:
    many = {f"column_{number}": [None, "1"] for number in range(4)}
    many = {f"a rather long column name {name}": value for name, value in many.items()}
    Change.objects.create(
        content_type=ContentType.objects.get_for_model(Chatbot),
        object_pk=str(person.pk),
        object_repr="Shop",
        action=Change.Action.CREATE,
        changes=many,
    )
    page.set_viewport_size(PHONE)
    page.goto(reverse("admin:accounts_change_changelist"))
    cell = page.locator("#result_list td", has_text="rather long").first
    assert cell.evaluate(LINES) >= 3
    inside = """cell => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      const text = range.getBoundingClientRect(), box = cell.getBoundingClientRect();
      return box.top <= text.top && text.bottom <= box.bottom;
    }"""
    assert cell.evaluate(inside)


@pytest.mark.slow
def test_the_label_of_a_switch_and_the_date_of_a_reset_fit_on_one_line(
    page: Page, shop: Chatbot
) -> None:
    page.set_viewport_size(PHONE)
    page.goto(reverse("admin:accounts_account_change", args=[shop.account_id]))
    for label in ("Webhooks add-on", "Mail on escalation"):
        assert page.locator("label", has_text=label).evaluate(LINES) == 1
    page.goto(reverse("admin:chatbots_chatbot_change", args=[shop.pk]) + "#generalsettings")
    assert page.locator("label", has_text="page context awareness").first.evaluate(LINES) == 1
    Usage.objects.create(account=shop.account, month=month_of(timezone.now())[0], messages=7)
    page.goto(reverse("admin:index"))
    date = page.locator("tr", has_text=shop.account.name).last.locator("td").last
    assert date.evaluate(LINES) == 1


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


def test_the_filters_can_be_opened_with_the_keyboard(page: Page, shop: Chatbot) -> None:
    page.goto(reverse("admin:webhooks_delivery_changelist"))
    filters = page.get_by_role("button", name="Filters")
    filters.focus()
    filters.press("Enter")
    expect(page.get_by_role("button", name="Apply filters")).to_be_visible()


@pytest.mark.slow
def test_no_page_scrolls_sideways(page: Page, thread: Thread) -> None:
    delivery = DeliveryFactory(chatbot=thread.chatbot, state="FAILED", body=b"x" * 5_000)
    for name, key in (
        ("index", None),
        ("conversations_thread_changelist", None),
        ("conversations_thread_change", thread.pk),
        ("webhooks_delivery_changelist", None),
        ("webhooks_delivery_change", delivery.pk),
        ("webhooks_endpoint_of", thread.chatbot_id),
        ("chatbots_chatbot_change", thread.chatbot_id),
        ("accounts_apikey_add", None),
    ):
        page.goto(reverse(f"admin:{name}", args=[key] if key else []))
        for size in (PHONE, DESK):
            page.set_viewport_size(size)
            page.evaluate(SETTLED)
            width = page.evaluate(WIDTH)
            assert width <= size["width"], name
