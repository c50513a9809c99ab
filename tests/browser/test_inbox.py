"""Agents at work in a browser: the live inbox, two agents on one thread, a lost connection."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.core import mail
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, expect

from accounts import mail_queue
from accounts.models import Account, User
from accounts.tasks import send_mail
from chatbots.models import Chatbot
from conversations.models import Message, Thread
from conversations.models.message import MessageType
from conversations.services import agent_message, escalation, history, visitor_message
from tests.browser.crawl import DESK, PHONE
from tests.browser.devices import Device
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory
from tests.factories.staff import signed_in, superuser

INBOX = reverse("admin:conversations_thread_changelist")
NEWS = re.compile("/thread/news/")
POLLED_WITHIN = 2_500  # milliseconds; the limit is 3 s, minus half a second for the request
Opens = Callable[..., Page]


@pytest.fixture
def thread(shop: Chatbot) -> Thread:
    visitor = VisitorFactory(chatbot=shop, name="Anna Berg")
    thread = ThreadFactory(chatbot=shop, visitor=visitor)
    MessageFactory(thread=thread, content="I was charged twice")
    return Thread.objects.get(pk=thread.pk)


@pytest.fixture
def opens(browser: Browser, live_server: object) -> Iterator[Opens]:
    """Return a function that opens a window for a user, in its own session and browser context."""
    contexts: list[BrowserContext] = []

    def open_window(person: User, **options: object) -> Page:
        context = browser.new_context(base_url=str(live_server), **options)
        context.set_default_timeout(60_000)
        session = signed_in(person).cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": session, "url": str(live_server)}])
        contexts.append(context)
        return context.new_page()

    yield open_window
    for context in contexts:
        context.close()


def address(thread: Thread) -> str:
    return reverse("admin:conversations_thread_change", args=[thread.pk])


def deliver_mails() -> None:
    """Send the emails that are due, as a worker does."""
    for mail_id, claim in mail_queue.claim(10):
        send_mail(mail_id, claim)


def test_an_escalation_is_answered_with_the_keyboard_and_returned_to_the_bot(
    device: Device, shop: Chatbot, thread: Thread, person: User
) -> None:
    page = device.page
    Account.objects.update(mail_on_escalation=True)
    shop.memberships.create(user=person)
    shop.account.memberships.create(user=person, role="MEMBER")
    page.goto(f"{INBOX}?view=waiting")
    expect(page.get_by_text("Nobody is waiting.")).to_be_visible()
    escalation.toggle(thread.pk)
    expect(page.locator("#result_list")).to_contain_text("I was charged twice")
    expect(page.locator("#inbox-tabs .active")).to_contain_text("Waiting 1")
    deliver_mails()
    assert [one.to for one in mail.outbox] == [[person.email]]

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


@pytest.mark.slow
def test_the_rows_stay_while_one_is_selected_and_new_ones_are_offered(
    page: Page, shop: Chatbot, thread: Thread
) -> None:
    escalation.toggle(thread.pk)
    page.goto(f"{INBOX}?view=waiting")
    page.locator("#result_list input.action-select").first.check()
    for number in range(3):
        other = ThreadFactory(
            chatbot=shop, visitor=VisitorFactory(chatbot=shop, name=f"No {number}")
        )
        escalation.toggle(other.pk)
    show = page.get_by_role("button", name="3 new, show")
    expect(show).to_be_visible()
    assert page.locator("#result_list tbody").count() == 1
    show.click()
    expect(page.locator("#result_list tbody")).to_have_count(4)
    expect(show).to_be_hidden()


def test_a_focused_tab_keeps_the_focus_while_new_rows_are_offered(
    page: Page, shop: Chatbot, thread: Thread
) -> None:
    escalation.toggle(thread.pk)
    page.goto(f"{INBOX}?view=waiting")
    tab = page.locator("#inbox-tabs").get_by_role("link", name="Resolved")
    tab.focus()
    escalation.toggle(ThreadFactory(chatbot=shop).pk)
    show = page.get_by_role("button", name="1 new, show")
    expect(show).to_be_visible(timeout=15_000)
    for _ in range(2):
        with page.expect_request(NEWS):
            pass  # the next poll
    expect(tab).to_be_focused(timeout=1_000)
    expect(show).to_be_visible()


@pytest.fixture
def heard(page: Page) -> Callable[[], list[str]]:
    """Return a function that makes the page poll and returns what its live regions announced."""
    page.add_init_script(
        "window.heard = [];"
        "document.addEventListener('DOMContentLoaded', () => {"
        " for (const region of document.querySelectorAll('main [role=status], [aria-live]'))"
        "  new MutationObserver(() => window.heard.push(region.innerText || region.textContent))"
        "   .observe(region, { subtree: true, childList: true, characterData: true });"
        "});"
    )

    def read() -> list[str]:
        for _ in range(2):
            with page.expect_response(NEWS):
                page.evaluate("window.dispatchEvent(new Event('online'))")
        said: list[str] = page.evaluate("window.heard.splice(0)")
        return [" ".join(each.split()) for each in said if each.strip()]

    return read


@pytest.mark.slow
def test_a_screen_reader_announces_each_change_once(
    page: Page, shop: Chatbot, thread: Thread, heard: Callable[[], list[str]]
) -> None:
    escalation.toggle(thread.pk)
    page.goto(f"{INBOX}?view=waiting")
    rows = page.locator("#result_list tbody")
    assert heard() == heard() == [], "nothing has changed"
    others = [ThreadFactory(chatbot=shop) for _ in range(4)]
    for number, other in enumerate(others[:2], start=2):
        escalation.toggle(other.pk)
        expect(rows).to_have_count(number)
        assert heard() == ["1 new or changed"]
        assert heard() == []
    escalation.toggle(others[0].pk)
    expect(rows).to_have_count(2)
    assert heard() == [], "a conversation left the list"

    page.locator("#result_list input.action-select").first.check()
    escalation.toggle(others[2].pk)
    show = page.get_by_role("button", name="1 new, show")
    expect(show).to_be_visible()
    assert heard() == ["1 new, show"]
    escalation.toggle(others[1].pk)  # removes this thread from the list, and changes the counts
    assert heard() == heard() == []
    escalation.toggle(others[3].pk)
    expect(page.get_by_role("button", name="2 new, show")).to_be_visible()
    assert heard() == ["2 new, show"]
    assert heard() == []


def longest_wait(page: Page) -> int:
    """Return the longest delay that the page has requested between two polls, in milliseconds."""
    wait: int = page.evaluate("Math.max(...window.waits)")
    return wait


@pytest.mark.slow
def test_a_thread_shows_new_messages_within_three_seconds(page: Page, thread: Thread) -> None:
    page.goto(address(thread))
    for words in ("Hello?", "Is anyone there?", "Never mind"):
        history.append_from_visitor(Thread.objects.get(pk=thread.pk), words)
        expect(page.get_by_role("log")).to_contain_text(words)
    assert 0 < longest_wait(page) <= POLLED_WITHIN


def test_concurrent_polls_show_a_message_once(page: Page, thread: Thread) -> None:
    page.goto(address(thread))
    page.wait_for_load_state()
    history.append_from_visitor(Thread.objects.get(pk=thread.pk), "Hello?")
    page.evaluate("for (let n = 0; n < 3; n++) window.dispatchEvent(new Event('online'))")
    message = page.get_by_role("log").get_by_text("Hello?")
    expect(message.first).to_be_visible()
    with page.expect_request(re.compile("/messages/")):
        pass  # the next poll
    expect(message).to_have_count(1)


@pytest.mark.slow
def test_the_inbox_shows_escalations_within_three_seconds(page: Page, shop: Chatbot) -> None:
    page.goto(f"{INBOX}?view=waiting")
    for name in ("Anna", "Ben", "Carla"):
        escalated = ThreadFactory(chatbot=shop, visitor=VisitorFactory(chatbot=shop, name=name))
        escalation.toggle(escalated.pk)
        expect(page.locator("#changelist")).to_contain_text(name)
    assert 0 < longest_wait(page) <= POLLED_WITHIN


def test_an_empty_inbox_stays_as_it_is_while_there_is_no_news(page: Page, shop: Chatbot) -> None:
    page.goto(f"{INBOX}?view=waiting")
    page.evaluate("window.isKept = true")
    for _ in range(2):
        with page.expect_request(NEWS):
            pass  # the next poll
    assert page.evaluate("window.isKept")


def test_two_agents_see_each_other_and_the_later_answer_is_held_back(
    device: Device, opens: Opens, thread: Thread
) -> None:
    page, sam = device.page, superuser(name="Sam")
    escalation.toggle(thread.pk)
    page.goto(address(thread))
    box = page.get_by_label("Reply as Kim")
    device.write(box, "We will refund it")
    other = opens(User.objects.get(pk=sam.pk))
    sams = device.on(other)
    other.goto(address(thread))
    expect(page.get_by_text("Sam is also here")).to_be_visible()
    expect(other.get_by_text("Kim is also here")).to_be_visible()
    sams.write(other.get_by_label("Reply as Sam"), "It is refunded")
    sams.press_twice(other.get_by_role("button", name="Send"))
    expect(other.get_by_role("log")).to_contain_text("It is refunded")

    expect(
        page.get_by_text("2 new messages while you were writing")
        .or_(page.get_by_role("log").get_by_text("It is refunded"))
        .first
    ).to_be_visible()
    device.press(page.get_by_role("button", name="Send"))
    expect(page.get_by_text("another agent answered while you were writing")).to_be_visible()
    expect(page.get_by_role("blockquote")).to_contain_text("Sam answered: It is refunded")
    expect(box).to_have_value("We will refund it")
    assert answers() == ["It is refunded"]
    device.press(page.get_by_role("button", name="Send anyway"))
    expect(page.get_by_role("log")).to_contain_text("We will refund it")
    assert answers() == ["It is refunded", "We will refund it"]


def answers() -> list[str]:
    rows = Message.objects.filter(message_type=MessageType.AGENT_MESSAGE)
    return list(rows.order_by("position").values_list("content", flat=True))


@pytest.mark.slow
def test_a_lost_connection_is_shown_and_the_page_recovers(
    device: Device, opens: Opens, person: User, thread: Thread
) -> None:
    page = opens(person)
    page.goto(address(thread))
    device.on(page).write(page.get_by_label("Reply as Kim"), "half a sentence")
    page.context.set_offline(True)
    expect(page.get_by_text("Not connected, trying again.")).to_be_visible()
    agent_message.answer(thread.pk, agent=superuser(), content="A colleague is here")
    page.context.set_offline(False)
    expect(page.get_by_role("log")).to_contain_text("A colleague is here")
    expect(page.get_by_text("Not connected, trying again.")).to_be_hidden()
    expect(page.get_by_label("Reply as Kim")).to_have_value("half a sentence")


def test_the_count_of_unread_messages_is_labeled_where_the_list_has_no_headings(
    page: Page, thread: Thread
) -> None:
    Thread.objects.update(unread_messages_count=3)
    page.goto(f"{INBOX}?view=all")
    for width, label in ((PHONE, '"unread"'), (DESK, "none")):
        page.set_viewport_size({"width": width, "height": 600})
        count = page.locator(".field-unread")
        assert count.inner_text() == "3"
        assert count.evaluate("cell => getComputedStyle(cell, '::after').content") == label


@pytest.mark.slow
def test_the_shortcuts_are_listed_and_can_be_switched_off(
    page: Page, shop: Chatbot, thread: Thread
) -> None:
    other = ThreadFactory(chatbot=shop, visitor=VisitorFactory(chatbot=shop, name="Jo"))
    Thread.objects.filter(pk__in=[thread.pk, other.pk]).update(
        escalated=True, waiting_since=timezone.now() - timedelta(minutes=3)
    )
    page.goto(address(thread))
    page.wait_for_load_state()
    page.keyboard.press("i")
    expect(page.get_by_text("important", exact=True)).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("j")
    page.wait_for_url(re.compile(str(other.pk)))
    page.wait_for_load_state()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("resolve or reopen")
    page.get_by_label("Single-key shortcuts are on").uncheck()
    page.get_by_role("button", name="Close").click()
    page.reload()
    page.keyboard.press("e")
    page.keyboard.press("r")
    expect(page.get_by_label("Reply as Kim")).not_to_be_focused()
    assert not Thread.objects.get(pk=other.pk).resolved
