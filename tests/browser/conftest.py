"""Fixtures that open the admin's pages in a real browser."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from accounts.models import User
from chatbots.models import Chatbot, LlmModel
from conversations.models import Thread
from tests.browser.crawl import ALL_LOOKS, LOOKS, PHONE, Look
from tests.browser.devices import Device, Keyboard
from tests.factories.chatbots import ChatbotFactory, LlmModelFactory
from tests.factories.conversations import MessageFactory, ThreadFactory, VisitorFactory
from tests.factories.staff import signed_in, superuser
from tests.groups import needs

QUIETLY = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# The ways to operate a page. Usually, only the keyboard is tested, in dark mode at a phone's width.
# With ALL_LOOKS, both the mouse and the keyboard are tested in each look (a width and a color
# scheme).
EVERY_WAY = [(device, look) for device in (Device, Keyboard) for look in LOOKS]
WAYS = EVERY_WAY if ALL_LOOKS else [(Keyboard, Look(PHONE, "dark"))]
# Shortens the delays between polls, and records the delays that the pages' scripts set.
QUICK_POLLS = """const start = setTimeout; window.waits = [];
window.setTimeout = (work, wait, ...rest) => {
  if (!["poll", "follow"].includes(work.name)) return start(work, wait, ...rest);
  window.waits.push(wait);
  return start(work, Math.min(wait / 5, 500), ...rest);
};"""
PATIENCE = 60_000  # milliseconds that a step may take on a busy machine
PASSWORD = "correct horse battery"
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = needs("chromium")
    # Playwright runs an event loop in this thread, which makes Django refuse database access.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, args=[*QUIETLY], timeout=2 * PATIENCE
        )
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def person(transactional_db: None) -> User:
    return superuser(name="Kim")


@pytest.fixture
def shop(transactional_db: None) -> Chatbot:
    if not LlmModel.objects.filter(is_default=True).exists():
        LlmModelFactory(is_default=True)
    return ChatbotFactory(name="Shop")


@pytest.fixture
def sam(transactional_db: None) -> User:
    """A colleague of Kim."""
    return superuser(name="Sam")


@pytest.fixture
def thread(shop: Chatbot) -> Thread:
    """A thread with 60 messages, the last of which says that the visitor was charged twice."""
    visitor = VisitorFactory(chatbot=shop, name="Anna Berg")
    thread = ThreadFactory(chatbot=shop, visitor=visitor, internal_notes="Called twice")
    for number in range(59):
        MessageFactory(thread=thread, content=f"Question {number}. " * 8)
    MessageFactory(thread=thread, content="I was charged twice")
    return Thread.objects.get(pk=thread.pk)


def page_of(thread: Thread) -> str:
    return reverse("admin:conversations_thread_change", args=[thread.pk])


def open_page(page: Page, thread: Thread) -> None:
    page.goto(page_of(thread))
    page.wait_for_load_state()  # the page handles keys only after its scripts have loaded


def send_button(page: Page) -> Locator:
    """Find the button that sends an answer. Its label depends on the conversation's state."""
    return page.locator("#send button").last


@pytest.fixture(scope="session")
def context(browser: Browser, live_server: object) -> Iterator[BrowserContext]:
    """The browser context that tests share. Between tests, only cached static files are kept."""
    context = browser.new_context(
        base_url=str(live_server), permissions=["clipboard-read", "clipboard-write"]
    )
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@contextmanager
def window(context: BrowserContext, host: str) -> Iterator[Page]:
    """Open a window. Afterwards, clear its cookies and storage, but keep cached static files."""
    page = context.new_page()
    yield page
    kept = {"origin": host, "storageTypes": "local_storage"}
    context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
    page.close()
    context.clear_cookies()


@pytest.fixture
def page(context: BrowserContext, live_server: object, person: User) -> Iterator[Page]:
    """A window in which Kim is signed in. Any error or warning from a page fails the test.

    Pages in this window poll more often than usual.
    """
    complaints: list[str] = []
    session = signed_in(person).cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": str(live_server)}])
    with window(context, str(live_server)) as page:
        page.add_init_script(QUICK_POLLS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: (
                complaints.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        yield page
    assert not complaints


@pytest.fixture
def window_of_kim(page: Page) -> Iterator[Page]:
    """A second window in Kim's session. Its failed requests do not fail the test."""
    other = page.context.new_page()
    other.add_init_script(QUICK_POLLS)
    yield other
    other.close()


Opens = Callable[[User], Page]


@pytest.fixture
def opens(browser: Browser, live_server: object) -> Iterator[Opens]:
    """Return a function that opens a window for a user, in its own session and browser context."""
    contexts: list[BrowserContext] = []

    def open_window(person: User) -> Page:
        context = browser.new_context(base_url=str(live_server))
        context.set_default_timeout(PATIENCE)
        session = signed_in(person).cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": session, "url": str(live_server)}])
        contexts.append(context)
        return context.new_page()

    yield open_window
    for context in contexts:
        context.close()


def end_session(page: Page) -> None:
    page.context.clear_cookies(name="sessionid")


def sign_in(device: Device, person: User) -> None:
    """Sign in on the form that a page shows without a session."""
    person.set_password(PASSWORD)
    person.save()
    device.write(device.page.get_by_label("Email"), person.email)
    device.write(device.page.get_by_label("Password"), PASSWORD)
    device.press(device.page.get_by_role("button", name="Log in"))


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0].__name__.lower()}-{way[1]}")
def device(page: Page, request: pytest.FixtureRequest) -> Device:
    """A device that operates Kim's window in a given look. Tests run once for each pair in WAYS."""
    kind, look = request.param
    operated: Device = kind(page, look)
    return operated
