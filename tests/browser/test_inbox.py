"""Agents at work in the inbox: it is live, stays still under the hand, and survives failures."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.core import mail
from django.urls import reverse
from playwright.sync_api import Browser, Page, Route, expect

from accounts import mail_queue
from accounts.models import Account, User
from accounts.tasks import send_mail
from chatbots.models import Chatbot
from conversations.models import Thread
from conversations.models.message import MessageType
from conversations.services import escalation, visitor_message
from tests.browser.conftest import PATIENCE, Opens, open_page, page_of
from tests.browser.crawl import DESK, HEIGHT, PHONE
from tests.browser.devices import Device
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory
from tests.factories.staff import signed_in
from tests.factories.webhooks import DeliveryFactory

INBOX = f"{reverse('admin:conversations_thread_changelist')}?view=waiting"
NEWS = re.compile("/thread/news/")
LIST = "**/thread/?view=waiting"
SOON = 20_000  # milliseconds; less than a minute, because the list refreshes every minute anyway
LOST = "Not connected, trying again."
HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  window.waits = [];
  document.dispatchEvent(new Event("visibilitychange"));
}"""
# Records what the page's live regions announce
HEAR = """window.heard = [];
document.addEventListener("DOMContentLoaded", () => {
  for (const region of document.querySelectorAll("main [role=status], [aria-live]"))
    new MutationObserver(() => window.heard.push(region.innerText || region.textContent))
      .observe(region, { subtree: true, childList: true, characterData: true });
});"""


def escalate(shop: Chatbot, name: str) -> Thread:
    thread: Thread = ThreadFactory(chatbot=shop, visitor=VisitorFactory(chatbot=shop, name=name))
    MessageFactory(thread=thread, content=f"{name} asks")
    escalation.toggle(thread.pk)
    return thread


def test_an_escalation_is_answered_with_the_keyboard_and_returned_to_the_bot(
    device: Device, shop: Chatbot, thread: Thread, person: User
) -> None:
    page = device.page
    Account.objects.update(mail_on_escalation=True)
    shop.memberships.create(user=person)
    shop.account.memberships.create(user=person, role="MEMBER")
    page.goto(INBOX)
    expect(page.get_by_text("Nobody is waiting.")).to_be_visible()
    escalation.toggle(thread.pk)
    expect(page.locator("#result_list")).to_contain_text("I was charged twice")
    expect(page.locator("#inbox-tabs .active")).to_contain_text("Waiting 1")
    for mail_id, claim in mail_queue.claim(10):  # as a worker does
        send_mail(mail_id, claim)
    staff = [person.email, shop.account.owner.email]
    assert sorted(one.to for one in mail.outbox) == sorted([email] for email in staff)

    device.press(page.get_by_role("link", name="Anna Berg"))
    expect(page.get_by_role("log")).to_contain_text("I was charged twice")
    page.wait_for_load_state()
    page.keyboard.press("r")
    page.keyboard.type("Let me look")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("log")).to_contain_text("Let me look")
    device.press(page.get_by_role("button", name="Return to the AI"))
    expect(page.get_by_text("the AI answers")).to_be_visible()
    sent = visitor_message.send(visitor_message.receive(shop.pk, thread.pk, "Thanks"))
    assert sent.messages[-1].message_type == MessageType.AI_MESSAGE
    expect(page.get_by_role("log")).to_contain_text(sent.messages[-1].content)


def test_two_people_assign_a_conversation_at_once_and_the_second_learns_of_the_first(
    device: Device, opens: Opens, thread: Thread, person: User, sam: User
) -> None:
    page, other = device.page, opens(sam)
    for each in (page, other):
        each.goto(page_of(thread))
    device.choose(page.get_by_label("Assigned to"), "Kim (me)")
    other.get_by_label("Assigned to").select_option(label="Sam (me)")
    device.press(page.get_by_role("button", name="Assign"))
    expect(page.get_by_text("assigned to Kim")).to_be_visible()
    expect(other.get_by_text("assigned to Kim")).to_be_visible()  # by polling
    other.get_by_role("button", name="Assign").click()
    expect(other.get_by_text("a colleague has assigned this conversation to Kim")).to_be_visible()
    expect(page.get_by_role("log")).to_contain_text("Kim took this conversation")
    page.goto(f"{INBOX}&assignee=me")
    device.press(page.get_by_role("link", name="Mine"))
    expect(page.locator("#result_list")).to_contain_text("Anna Berg")


def test_a_conversation_that_is_marked_as_unread_is_listed_until_it_is_opened(
    device: Device, thread: Thread
) -> None:
    page = device.page
    open_page(page, thread)
    page.keyboard.press("u")
    expect(page.get_by_text("was marked as unread")).to_be_visible()
    device.press(page.get_by_role("link", name="Unread 1"))
    with page.expect_response(re.compile("/seen/$")):
        device.press(page.get_by_role("link", name="Anna Berg"))
    page.goto(f"{INBOX.split('?')[0]}?view=unread")
    expect(page.get_by_text("There are no conversations in this view.")).to_be_visible()


def test_a_filtered_view_is_saved_and_opened_again(device: Device, thread: Thread) -> None:
    page = device.page
    page.goto(f"{INBOX.split('?')[0]}?view=open&tag=billing")
    expect(page.get_by_text("tag: billing")).to_be_visible()
    device.press(page.get_by_text("Save this view"))
    device.write(page.get_by_label("Name of the view"), "Billing")
    device.press(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("View “Billing” saved")).to_be_visible()
    device.press(page.get_by_role("link", name="Clear all (1)"))
    expect(page.locator("#result_list")).to_contain_text("Anna Berg")
    device.press(page.get_by_role("link", name="Billing", exact=True))
    expect(page.get_by_text("tag: billing")).to_be_visible()
    expect(page.get_by_text("Nothing matches")).to_be_visible()


def test_the_hour_that_a_row_shows_finds_the_row(
    browser: Browser, live_server: object, person: User, thread: Thread
) -> None:
    moment = datetime(2026, 5, 1, 23, 30, 45, tzinfo=UTC)
    Thread.objects.filter(pk=thread.pk).update(updated_at=moment)
    context = browser.new_context(base_url=str(live_server), timezone_id="Europe/Vienna")
    session = signed_in(person).cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": str(live_server)}])
    page = context.new_page()
    page.goto(f"{INBOX.split('?')[0]}?view=open")  # its script stores the time zone
    for hour, found in (("01:30", 1), ("23:30", 0)):
        day = "2026-05-02"
        ends = f"updated_at_from_0={day}&updated_at_from_1={hour}&updated_at_to_0={day}"
        page.goto(f"{INBOX.split('?')[0]}?view=open&{ends}&updated_at_to_1={hour}")
        expect(page.get_by_role("link", name="Anna Berg")).to_have_count(found)
    expect(page.get_by_text("updated (Europe/Vienna): from 2026-05-02 23:30")).to_be_visible()
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_whole_row_opens_the_conversation(page: Page, thread: Thread, width: int) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHT})
    for cell in (".field-chatbot", ".field-last_words"):
        page.goto(f"{reverse('admin:conversations_thread_changelist')}?view=open")
        box = page.locator(f"#result_list {cell}").bounding_box()
        assert box
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_url(re.compile(str(thread.pk)))


@pytest.mark.slow
def test_rows_stay_while_one_is_selected_and_a_screen_reader_announces_each_change_once(
    page: Page, shop: Chatbot
) -> None:
    def heard() -> list[str]:
        """Make the page poll, and return what its live regions have announced."""
        for _ in range(2):
            with page.expect_response(NEWS):
                page.evaluate("window.dispatchEvent(new Event('online'))")
        said: list[str] = page.evaluate("window.heard.splice(0)")
        return [" ".join(each.split()) for each in said if each.strip()]

    page.add_init_script(HEAR)
    escalate(shop, "Anna")
    page.goto(INBOX)
    rows = page.locator("#result_list tbody")
    assert heard() == heard() == [], "nothing has changed"
    ben = escalate(shop, "Ben")
    expect(rows).to_have_count(2)
    assert heard() == ["1 new or changed"]
    assert heard() == []
    escalation.toggle(ben.pk)
    expect(rows).to_have_count(1)
    assert heard() == [], "a conversation left the list"

    page.locator("#result_list input.action-select").first.check()
    for number, name in enumerate(("Carla", "Dan"), start=1):
        escalate(shop, name)
        expect(page.get_by_role("button", name=f"{number} new, show")).to_be_visible()
        assert heard() == [f"{number} new, show"]
        assert heard() == []
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="2 new, show").click()
    expect(rows).to_have_count(3)


FAILURES: dict[str, Callable[[Route], None]] = {
    "lost": lambda route: route.abort(),
    "unavailable": lambda route: route.fulfill(status=503, body="no"),
}


@pytest.mark.slow
@pytest.mark.parametrize("failure", FAILURES)
def test_a_row_that_is_focused_after_a_failed_refresh_keeps_the_focus(
    window_of_kim: Page, shop: Chatbot, failure: str
) -> None:
    window = window_of_kim
    escalate(shop, "Anna")
    window.goto(INBOX)
    window.evaluate("window.isKept = true")
    window.route(LIST, FAILURES[failure])
    escalate(shop, "Ben")
    expect(window.get_by_text(LOST)).to_be_visible()
    anna = window.get_by_role("link", name="Anna", exact=True)
    anna.focus()
    show = window.get_by_role("button", name="1 new, show")
    expect(show).to_be_visible(timeout=SOON)
    expect(anna).to_be_focused()
    expect(window.get_by_text(LOST)).to_be_hidden()  # the polls succeed
    window.unroute(LIST)
    show.click()
    expect(window.get_by_role("link", name="Ben", exact=True)).to_be_visible()
    expect(show).to_be_hidden()
    assert window.evaluate("window.isKept"), "the page was not reloaded"


# For each page: a function that returns its address, its polling interval in milliseconds, and a
# pattern for the address that it polls
POLLING: dict[str, tuple[Callable[[Thread], str], int, str]] = {
    "thread": (page_of, 2_000, "**/messages/**"),
    "inbox": (lambda thread: INBOX, 2_000, "**/thread/news/**"),
    "delivery": (
        lambda thread: reverse(
            "admin:webhooks_delivery_change", args=[DeliveryFactory(chatbot=thread.chatbot).pk]
        ),
        1_000,
        "**/delivery/*/news/**",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", POLLING)
def test_a_page_polls_often_while_visible_seldom_while_hidden_and_backs_off_on_failures(
    window_of_kim: Page, thread: Thread, name: str
) -> None:
    window, (opened, soon, address) = window_of_kim, POLLING[name]

    def await_waits(*waits: int) -> None:
        """Wait until the page's most recent delays between polls are the given ones."""
        check = (
            "waits => JSON.stringify(window.waits.slice(-waits.length)) === JSON.stringify(waits)"
        )
        window.wait_for_function(check, arg=waits, timeout=PATIENCE)

    window.goto(opened(thread))
    await_waits(soon, soon, soon)
    window.evaluate(HIDE, True)
    await_waits(15_000, 15_000)
    window.evaluate(HIDE, False)
    await_waits(soon, soon)
    window.route(address, lambda route: route.abort())
    await_waits(soon * 2, soon * 4, soon * 8)
    await_waits(30_000, 30_000, 30_000)
    window.unroute(address)
    await_waits(soon, soon)
