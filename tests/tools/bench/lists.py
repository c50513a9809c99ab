"""Measure how much the cost of list pages grows as deliveries increase from 500 to a million.

The pages belong to the delivery log and the inbox. They are requested by a superuser, and by a
member of staff whose account has several chatbots. Each page shows the same number of rows with 500
deliveries as with a million. The million deliveries belong to 200,000 messages.
"""

import gc
import statistics
import time
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chatbots.models import Chatbot, LlmModel
from conversations.models import Thread
from tests.factories import bulk
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory, LlmModelFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff, superuser
from tests.factories.webhooks import DeliveryFactory
from tests.tools.bench.api import quiet
from webhooks.models import Delivery

DELIVERIES, FEW = 1_000_000, 500
OF_MESSAGE, OF_THREAD = 5, 20  # deliveries per message, messages per thread
SHOWN = 100  # every group has at least this many rows, so that it fills a page of 25
BOTS = 5  # chatbots in the staff member's account
ASKED = 5  # requests per page
LOG = reverse("admin:webhooks_delivery_changelist")
INBOX = reverse("admin:conversations_thread_changelist")
AGES = {  # SQLite compares times as strings, so they need six decimals, as Django writes them
    "postgresql": "template.created_at - s.n * interval '1 second'",
    "sqlite": "strftime('%%Y-%%m-%%d %%H:%%M:%%f', template.created_at, '-' || s.n || ' seconds')"
    " || '000'",
}


@dataclass(frozen=True)
class Page:
    """A page of a list: its name and its address."""

    name: str
    address: str


def fill(bots: list[Chatbot], foreign: Chatbot, count: int) -> None:
    """Store half of the deliveries in the bots' account, and the other half in another account.

    All FAILED deliveries are in the other account. They make up 1% of the total, but there are at
    least SHOWN of them. Each of `bots` also has at least SHOWN deliveries.
    """
    columns = {"created_at": AGES[connection.vendor], "position": "s.n"}
    ended = {"state": "SUCCESS", "due_at": None, "attempts_count": 1, "last_code": 200}
    for bot in bots:
        row = DeliveryFactory(chatbot=bot, **ended)
        bulk.copy(row, max(count // 2 // len(bots), SHOWN), columns)
    bulk.copy(DeliveryFactory(chatbot=foreign, **ended), count * 49 // 100, columns)
    failed = {"state": "FAILED", "attempts_count": 4, "last_code": 503}
    bulk.copy(DeliveryFactory(chatbot=foreign, **ended | failed), max(count // 100, SHOWN), columns)


def talk(bots: list[Chatbot], foreign: Chatbot, messages: int) -> None:
    """Store conversations that are not waiting for a person, half of them in the bots' account."""
    for bot in [*bots, *[foreign] * len(bots)]:
        threads = max(messages // OF_THREAD // 2 // len(bots), SHOWN)
        bulk.copy(ThreadFactory(chatbot=bot), threads - 1, {"updated_at": bulk.later()})
    message = MessageFactory(thread=ThreadFactory(chatbot=foreign))
    each = "(SELECT id AS thread_id FROM conversations_thread)"
    for number in range(OF_THREAD):
        columns = {"thread_id": "s.thread_id", "position": f"{2 + number}"}
        bulk.copy(message, 0, columns, source=each)


def half_way(rows: Any, column: str) -> tuple[str, Any]:
    """Return the query string of the page halfway down a list, and the id of the row before it."""
    at, key = rows.order_by(f"-{column}", "-pk").values_list(column, "pk")[rows.count() // 2 - 1]
    return f"after={at.isoformat().replace('+', '%2B')}~{key}", key


def pages_of(deliveries: Any, threads: Any) -> list[Page]:
    """Return the pages to compare: the first, a deep one, and some with filters or a search."""
    place, key = half_way(deliveries, "created_at")
    bot = deliveries.values_list("chatbot", flat=True)[0]
    log = [
        Page("first page", ""),
        Page("half-way down", f"?{place}"),
        Page("a state that matches nothing", "?state__exact=RETRYING"),
        Page("failures of others", "?state__exact=FAILED"),
        Page("a code that matches nothing", "?code=4xx"),
        Page("an event that matches nothing", "?event__exact=NEW_LEAD"),
        Page("an event that matches all", "?event__exact=NEW_MESSAGE"),
        Page("tests", "?is_test__exact=1"),
        Page("an event in a state", "?event__exact=NEW_LEAD&state__exact=SUCCESS"),
        Page("an event of failures", "?event__exact=NEW_LEAD&state__exact=FAILED"),
        Page("a cause", "?cause=502&state__exact=FAILED"),
        Page("a cause that matches", "?cause=503"),
        Page("a time", "?created_at_from_0=2020-01-01&created_at_from_1=00:00:00"),
        Page("an event of one chatbot", f"?chatbot={bot}&event__exact=NEW_LEAD"),
        Page("an event, half-way down", f"?{place}&event__exact=NEW_LEAD"),
        Page("one chatbot", f"?chatbot={bot}"),
        Page("a search that finds one", f"?q={key}"),
        Page("a search that finds nothing", "?q=01926b3c-1f00-7a10-9c3e-5b1d2f4a6c01"),
    ]
    inbox = [
        Page("first page", "?view=open"),
        Page("half-way down", f"?view=open&{half_way(threads, 'updated_at')[0]}"),
        Page("nothing is waiting", "?view=waiting"),
        Page("a tag that matches nothing", "?view=open&tag=none"),
        Page("a search that finds nothing", "?q=unknown"),
    ]
    return [Page(one.name, LOG + one.address) for one in log] + [
        Page(f"inbox, {one.name}", INBOX + one.address) for one in inbox
    ]


def timed(client: Client, page: Page, asked: int) -> tuple[float, int]:
    """Return a page's median response time in seconds, and its number of SQL statements.

    Asserts that each request succeeds.
    """
    took = []
    gc.collect()
    for _ in range(asked):
        began = time.perf_counter()
        with quiet(), CaptureQueriesContext(connection) as statements:
            assert client.get(page.address).status_code == 200
        took.append(time.perf_counter() - began)
    return statistics.median(took), len(statements)


def measure(size: float, asked: int = ASKED) -> dict[str, Any]:
    """Request each page several times, with few rows and with many.

    Returns each page's response times and statement counts, and the ratio of the two times.
    """
    LlmModel.objects.filter(is_default=True).exists() or LlmModelFactory(is_default=True)
    account = AccountFactory()
    bots = [ChatbotFactory(account=account) for _ in range(BOTS)]
    foreign = ChatbotFactory()
    people = {
        "superuser": signed_in(superuser()),
        "staff": signed_in(staff(account.owner, ACCOUNT_ADMINS)),
    }
    found: dict[str, dict[str, tuple[float, int]]] = {}
    for count in (FEW, round(DELIVERIES * size)):
        Delivery.objects.all().delete()
        Thread.objects.all().delete()
        fill(bots, foreign, count)
        talk(bots, foreign, count // OF_MESSAGE)
        bulk.settle()
        for who, client in people.items():
            seen = {} if who == "superuser" else {"chatbot__in": bots}
            rows = Delivery.objects.filter(**seen), Thread.objects.filter(**seen)
            client.get(LOG)  # fills the process's caches
            for page in pages_of(*rows):
                found.setdefault(f"{who}, {page.name}", {})[f"{count}"] = timed(client, page, asked)
    figures = {name: compared(*sides.values()) for name, sides in found.items()}
    for name, one in figures.items():
        ms = f"{1000 * one['many_s']:.0f} : {1000 * one['few_s']:.0f} ms"
        print(f"  {name:44} {ms} = {one['ratio']:.2f}", flush=True)  # noqa: T201
    return figures


def compared(few: tuple[float, int], many: tuple[float, int]) -> dict[str, float]:
    return {
        "few_s": few[0],
        "many_s": many[0],
        "ratio": many[0] / few[0],
        "statements_few": few[1],
        "statements_many": many[1],
    }
