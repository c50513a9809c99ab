"""Take a screenshot of every page: `python -m tests.browser.screenshots OUT`.

Each page is shown at widths of 390 and 1440 px, in light and dark mode. With --docs, only the
screenshots for docs/admin.md are taken. The command uses its own test database, with demo data.
"""

# ruff: noqa: E402, T201 - some imports must follow django.setup(); errors are printed

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

import tests.environment  # noqa: F401

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # needed because Playwright runs an event loop
import django

django.setup()

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import admin
from django.db import connection
from django.test.utils import (
    setup_databases,
    setup_test_environment,
    teardown_databases,
)
from playwright.sync_api import sync_playwright
from tqdm import tqdm

from chatbots.models import Chatbot
from conversations import demo
from tests.admin_urls import pages
from tests.browser.crawl import DESK, LOOKS, SETTLED, Crawler, Look
from tests.browser.scene import conversations, deliveries, figures
from tests.browser.submissions import INVITATIONS, SUBMISSIONS, at, queries
from tests.factories.chatbots import LlmModelFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.tenant import Tenant
from tests.groups import TOOLS
from tests.servers.processes import Web

FIRST = "/admin/"  # the page whose menus are opened; other pages have the same menus
SCALE = 0.75  # image pixels per CSS pixel in the screenshots for docs/admin.md


def main() -> int:
    """Take the screenshots. Returns 1 if a page reported an error."""
    parser = argparse.ArgumentParser(description="Take a screenshot of every page.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="only pages that match this regular expression")
    parser.add_argument(
        "--docs", action="store_true", help="take only the screenshots for docs/admin.md"
    )
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    setup_test_environment()  # makes responses record their templates
    admin.autodiscover()  # registers the admin's pages
    databases = setup_databases(verbosity=0, interactive=False)
    try:
        found = illustrate(options.folder) if options.docs else take(options.folder, options.only)
    finally:
        connection.close()
        teardown_databases(databases, verbosity=0)
    print("\n".join(found))
    return 1 if found else 0


@contextmanager
def crawling(scale: float = 1) -> Iterator[Crawler]:
    """Start the service, and yield a crawler for a browser in which a superuser is signed in."""
    client = signed_in(superuser(name="Kim", email="kim@example.com"))
    with Web() as web, sync_playwright() as driver:
        path = next(filter(None, map(shutil.which, TOOLS["chromium"])))
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = browser.new_context(base_url=web.address, device_scale_factor=scale)
        crawler = Crawler(context.new_page(), web.address)
        crawler.sign_in(client.cookies["sessionid"].value)
        yield crawler
        browser.close()


def shop() -> Chatbot:
    """Seed the demo data, and return the shop's chatbot."""
    demo.seed()
    return Chatbot.objects.get(name="Shop")


def take(folder: Path, only: str) -> list[str]:
    """Take a screenshot of each page in each look (a window width and a color scheme).

    Returns the errors that the pages reported.
    """
    bot = shop()
    figures(bot)
    conversations(bot)
    deliveries(bot)
    LlmModelFactory()
    tenant = Tenant("Acme")
    found = pages(signed_in(superuser()), tenant, only=only)
    others = [one for one in (*queries(tenant), "/docs", "/admin/none/") if re.search(only, one)]
    with crawling() as crawler:
        for address in tqdm([*found, *others]):
            for look in LOOKS:
                crawler.visit(address, look)
                save(crawler, folder / named(address), look, shell=address == FIRST)
        for send in [one for one in SUBMISSIONS if re.search(only, one.__name__)]:
            for look in LOOKS:
                crawler.become(look, at=send.__name__)
                send(crawler.page, tenant)
                save(crawler, folder / send.__name__, look)
        for step in [one for one in INVITATIONS if re.search(only, one.__name__)]:
            for look in LOOKS:
                crawler.become(look, at=f"{step.__name__} /invitation")
                step(crawler.page)
                save(crawler, folder / step.__name__, look)
    return crawler.found


def save(crawler: Crawler, path: Path, look: Look, *, shell: bool = False) -> None:
    """Take a screenshot of the open page in each of its states."""
    for state in crawler.states(shell=shell):
        crawler.page.evaluate(SETTLED)
        name = f"{path.name}-{named(state)}-{look}.png"
        crawler.page.screenshot(path=path.with_name(name), full_page=True)


def named(address: str) -> str:
    """Turn a string into a file name of lowercase letters, underscores and hyphens."""
    return re.sub(r"[^a-z_]+", "-", address.lower()).strip("-") or "home"


def illustrate(folder: Path) -> list[str]:
    """Take the screenshots for docs/admin.md, and return the errors that the pages reported."""
    bot = shop()
    figures(bot)
    thread, failed = conversations(bot), deliveries(bot)
    shown = {
        "home": f"{at('index')}?span=7d",
        "inbox": f"{at('conversations_thread_changelist')}?view=waiting",
        "conversation": at("conversations_thread_change", thread.pk),
        "delivery": at("webhooks_delivery_change", failed.pk),
        "webhook": at("webhooks_endpoint_of", bot.pk),
        "chatbot": f"{at('chatbots_chatbot_change', bot.pk)}#appearance",
    }
    with crawling(SCALE) as crawler:
        for name, address in shown.items():
            crawler.visit(address, Look(DESK, "light"))
            crawler.page.evaluate(SETTLED)
            crawler.page.screenshot(path=folder / f"admin-{name}.png")
    return crawler.found


if __name__ == "__main__":
    sys.exit(main())
