"""Fixtures that open the admin's pages in a real browser."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from accounts.models import User
from chatbots.models import Chatbot, LlmModel
from tests.browser.crawl import ALL_LOOKS, LOOKS, PHONE, Look
from tests.browser.devices import Device, Keyboard, Mouse
from tests.factories.chatbots import ChatbotFactory, LlmModelFactory
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
EVERY_WAY = [(device, look) for device in (Mouse, Keyboard) for look in LOOKS]
WAYS = EVERY_WAY if ALL_LOOKS else [(Keyboard, Look(PHONE, "dark"))]
# Makes pages poll five times as often as usual, and records the delays that their scripts set.
QUICK_POLLS = """const start = setTimeout; window.waits = [];
window.setTimeout = (work, wait, ...rest) => {
  if (!["poll", "follow"].includes(work.name)) return start(work, wait, ...rest);
  window.waits.push(wait);
  return start(work, wait / 5, ...rest);
};"""
PATIENCE = 60_000  # milliseconds that a step may take on a busy machine
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


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0].__name__.lower()}-{way[1]}")
def device(page: Page, request: pytest.FixtureRequest) -> Device:
    """A device that operates Kim's window in a given look. Tests run once for each pair in WAYS."""
    kind, look = request.param
    operated: Device = kind(page, look)
    return operated
