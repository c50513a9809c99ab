"""The live inbox when polls for updates succeed but requests for the list itself fail."""

from collections.abc import Callable, Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from chatbots.models import Chatbot
from conversations.models import Thread
from conversations.services import escalation
from tests.browser.conftest import QUICK_POLLS
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory

INBOX = f"{reverse('admin:conversations_thread_changelist')}?view=waiting"
LIST = "**/thread/?view=waiting"
SOON = 20_000  # milliseconds; less than a minute, because the list refreshes every minute anyway
LOST = "Not connected, trying again."


@pytest.fixture
def window(page: Page, shop: Chatbot) -> Iterator[Page]:
    """A window that shows one waiting visitor. Its failed requests do not fail the test."""
    escalate(shop, "Anna")
    window = page.context.new_page()
    window.add_init_script(QUICK_POLLS)
    window.goto(INBOX)
    window.evaluate("window.isKept = true")
    yield window
    window.close()


def escalate(shop: Chatbot, name: str) -> Thread:
    thread: Thread = ThreadFactory(chatbot=shop, visitor=VisitorFactory(chatbot=shop, name=name))
    MessageFactory(thread=thread)
    escalation.toggle(thread.pk)
    return thread


FAILURES: dict[str, Callable[[Route], None]] = {
    "lost": lambda route: route.abort(),
    "unavailable": lambda route: route.fulfill(status=503, body="no"),
}


@pytest.mark.slow
@pytest.mark.parametrize("failure", FAILURES)
def test_a_row_that_is_focused_after_a_failed_refresh_keeps_the_focus(
    window: Page, shop: Chatbot, failure: str
) -> None:
    window.route(LIST, FAILURES[failure])
    escalate(shop, "Ben")
    expect(window.get_by_text(LOST)).to_be_visible()
    anna = window.get_by_role("link", name="Anna")
    anna.focus()
    show = window.get_by_role("button", name="1 new, show")
    expect(show).to_be_visible(timeout=SOON)
    expect(window.get_by_text(LOST)).to_be_hidden()  # the polls succeed
    show.click()
    expect(window.get_by_text(LOST)).to_be_visible()
    window.unroute(LIST)
    expect(window.get_by_role("link", name="Ben")).to_be_visible()
    expect(show).to_be_hidden()
    expect(window.get_by_text(LOST)).to_be_hidden()
    assert window.evaluate("window.isKept"), "the page was not reloaded"
