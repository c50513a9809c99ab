"""What the delivery log costs as it grows: the same pages with few and with a million deliveries.

The pages are those of a superuser and of staff of one account with several chatbots. With few
deliveries, each page shows as many rows as with a million.
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
from tests.bench import bulk
from tests.bench.api import quiet
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory, LlmModelFactory
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff, superuser
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery

DELIVERIES, FEW = 1_000_000, 500
SHOWN = 100  # rows of a page
BOTS = 5  # of the account whose staff look
ASKED = 5  # times for each page
LOG = reverse("admin:webhooks_delivery_changelist")
AGES = {  # on SQLite with six decimals, as Django stores them: times are compared as texts
    "postgresql": "template.created_at - s.n * interval '1 second'",
    "sqlite": "strftime('%%Y-%%m-%%d %%H:%%M:%%f', template.created_at, '-' || s.n || ' seconds')"
    " || '000'",
}


@dataclass(frozen=True)
class Page:
    """A page of the log: its name and its query."""

    name: str
    query: str


def fill(bots: list[Chatbot], foreign: Chatbot, count: int) -> None:
    """Store deliveries: half of them the account's, and one failure in a hundred elsewhere.

    Each chatbot has more of them than a page shows, and so has the state.
    """
    columns = {"created_at": AGES[connection.vendor], "position": "s.n"}
    ended = {"state": "SUCCESS", "due_at": None, "attempts_count": 1, "last_code": 200}
    for bot in bots:
        row = DeliveryFactory(chatbot=bot, **ended)
        bulk.copy(row, max(count // 2 // len(bots), SHOWN), columns)
    bulk.copy(DeliveryFactory(chatbot=foreign, **ended), count * 49 // 100, columns)
    failed = {"state": "FAILED", "attempts_count": 4, "last_code": 503}
    bulk.copy(DeliveryFactory(chatbot=foreign, **ended | failed), max(count // 100, SHOWN), columns)


def pages_of(rows: "Any") -> list[Page]:
    """Return the pages to compare: first, deep, filters that match nothing, and a search."""
    keys = rows.order_by("-created_at", "-id").values_list("created_at", "pk")
    count = rows.count()
    at, key = keys[count // 2 - 1]
    place = f"{at.isoformat().replace('+', '%2B')}~{key}"
    bot = rows.values_list("chatbot", flat=True)[0]
    return [
        Page("first page", ""),
        Page("half-way down", f"?after={place}"),
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
        Page("an event, half-way down", f"?after={place}&event__exact=NEW_LEAD"),
        Page("one chatbot", f"?chatbot={bot}"),
        Page("a search that finds one", f"?q={key}"),
        Page("a search that finds nothing", "?q=01926b3c-1f00-7a10-9c3e-5b1d2f4a6c01"),
    ]


def timed(client: Client, page: Page, asked: int) -> tuple[float, int]:
    """Return the median seconds of a page, and its statements."""
    took = []
    gc.collect()
    for _ in range(asked):
        began = time.perf_counter()
        with quiet(), CaptureQueriesContext(connection) as statements:
            assert client.get(LOG + page.query).status_code == 200
        took.append(time.perf_counter() - began)
    return statistics.median(took), len(statements)


def measure(size: float, asked: int = ASKED) -> dict[str, Any]:
    """Compare the pages with few rows and with many, each asked for several times.

    Returns seconds, statements and ratios.
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
        fill(bots, foreign, count)
        bulk.settle()
        for who, client in people.items():
            rows = (
                Delivery.objects.all()
                if who == "superuser"
                else Delivery.objects.filter(chatbot__in=bots)
            )
            client.get(LOG)  # what is read once is not counted
            for page in pages_of(rows):
                found.setdefault(f"{who}, {page.name}", {})[f"{count}"] = timed(client, page, asked)
    return {name: compared(*sides.values()) for name, sides in found.items()}


def compared(few: tuple[float, int], many: tuple[float, int]) -> dict[str, float]:
    return {
        "few_s": few[0],
        "many_s": many[0],
        "ratio": many[0] / few[0],
        "statements_few": few[1],
        "statements_many": many[1],
    }
