"""How often open pages poll while they are visible, while hidden, and without a connection."""

from collections.abc import Callable, Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from chatbots.models import Chatbot
from tests.browser.conftest import PATIENCE
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.webhooks import DeliveryFactory

QUICKLY = """const start = setTimeout; window.waits = [];
window.setTimeout = (work, wait, ...rest) => {
  if (!["poll", "follow"].includes(work.name)) return start(work, wait, ...rest);
  window.waits.push(wait);
  return start(work, Math.min(wait / 20, 500), ...rest);
};"""
HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  window.waits = [];
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def thread_page(shop: Chatbot) -> str:
    thread = ThreadFactory(chatbot=shop)
    MessageFactory(thread=thread)
    return reverse("admin:conversations_thread_change", args=[thread.pk])


def inbox(shop: Chatbot) -> str:
    return f"{reverse('admin:conversations_thread_changelist')}?view=waiting"


def delivery_page(shop: Chatbot) -> str:
    return reverse("admin:webhooks_delivery_change", args=[DeliveryFactory(chatbot=shop).pk])


# For each page: a function that returns its address, its polling interval in milliseconds, and a
# pattern for the address that it polls
PAGES: dict[str, tuple[Callable[[Chatbot], str], int, str]] = {
    "thread": (thread_page, 2_000, "**/messages/**"),
    "inbox": (inbox, 2_000, "**/thread/news/**"),
    "delivery": (delivery_page, 1_000, "**/delivery/*/news/**"),
}


@pytest.fixture
def window(page: Page) -> Iterator[Page]:
    """A window with shorter delays between polls. Its failed requests do not fail the test."""
    window = page.context.new_page()
    window.add_init_script(QUICKLY)
    yield window
    window.close()


def await_waits(window: Page, waits: list[int]) -> None:
    """Wait until the page's most recent delays between polls are the given ones."""
    check = "waits => JSON.stringify(window.waits.slice(-waits.length)) === JSON.stringify(waits)"
    window.wait_for_function(check, arg=waits, timeout=PATIENCE)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_hidden_page_polls_every_15_seconds(window: Page, shop: Chatbot, name: str) -> None:
    opened, soon, _ = PAGES[name]
    window.goto(opened(shop))
    await_waits(window, [soon] * 3)
    window.evaluate(HIDE, True)
    await_waits(window, [15_000] * 2)
    window.evaluate(HIDE, False)
    await_waits(window, [soon] * 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_failing_polls_back_off_to_30_seconds(window: Page, shop: Chatbot, name: str) -> None:
    opened, soon, address = PAGES[name]
    window.goto(opened(shop))
    await_waits(window, [soon] * 2)
    window.route(address, lambda route: route.abort())
    await_waits(window, [soon * 2, soon * 4, soon * 8])
    await_waits(window, [30_000] * 3)
    window.unroute(address)
    await_waits(window, [soon] * 2)
