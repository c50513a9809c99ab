"""In long lists, each row is on exactly one page, and all pages need the same number of queries."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery

LOG = reverse("admin:webhooks_delivery_changelist")
NEXT = re.compile(r'href="([^"]+)" rel="next"')


@pytest.fixture
def client(db: None) -> Client:
    return signed_in(superuser())


def rows_and_next(client: Client, address: str) -> tuple[list[str], str | None]:
    """Return the ids of a page's rows and the address of the next page, if there is one."""
    page = client.get(address)
    assert page.status_code == 200
    text = page.content.decode()
    found = NEXT.search(text)
    rows = re.findall(r"/delivery/([0-9a-f-]{36})/change/", text)
    return list(dict.fromkeys(rows)), LOG + unescape(found[1]) if found else None


def fill(chatbot: Chatbot, count: int, **fields: object) -> list[str]:
    """Create deliveries whose order depends on both the timestamp and the id.

    Groups of three deliveries share a timestamp, and groups with higher ids have earlier
    timestamps. Returns the ids, newest first.
    """
    now = timezone.now()
    made = [DeliveryFactory(chatbot=chatbot, **fields) for _ in range(count)]
    for index, row in enumerate(made):
        Delivery.objects.filter(pk=row.pk).update(created_at=now - timedelta(seconds=index // 3))
    keys = Delivery.objects.order_by("-created_at", "-id").values_list("pk", flat=True)
    return [str(key) for key in keys]


@pytest.mark.parametrize("count", [0, 1, 25, 26, 50, 60])
def test_the_pages_contain_every_row_once_and_in_order(
    client: Client, chatbot: Chatbot, count: int
) -> None:
    wanted = fill(chatbot, count)
    seen: list[str] = []
    pages, address = 0, LOG
    while address:
        rows, address = rows_and_next(client, address)
        seen += rows
        pages += 1
    assert seen == wanted
    assert pages == max(1, -(-count // 25))


def test_a_filter_is_kept_on_the_next_page(client: Client, chatbot: Chatbot) -> None:
    fill(chatbot, 30, state="FAILED")
    fill(chatbot, 30, state="SUCCESS")
    _, address = rows_and_next(client, f"{LOG}?state__exact=FAILED")
    assert address
    rows, _ = rows_and_next(client, address)
    assert len(rows) == 5
    assert {row.state for row in Delivery.objects.filter(pk__in=rows)} == {"FAILED"}


OUT_OF_RANGE = ("0001-01-01T00:00:00", "0001-01-01T00:00+23:59", "9999-12-31T23:59-23:59")
PLACES = (*(f"{time}~{'0' * 32}" for time in ("yesterday", *OUT_OF_RANGE)), "2026-01-01~x")


@pytest.mark.parametrize("place", ["x", "~", "1", *PLACES])
def test_an_invalid_position_redirects_to_the_list(
    client: Client, chatbot: Chatbot, place: str
) -> None:
    answer = client.get(f"{LOG}?after={quote(place)}")
    assert (answer.status_code, answer["Location"]) == (302, f"{LOG}?e=1")


@pytest.mark.parametrize(("term", "found"), [("delivery", 1), ("thread", 2), ("other", 0)])
def test_the_search_matches_a_complete_id(
    client: Client, chatbot: Chatbot, term: str, found: int
) -> None:
    thread = "01890000-0000-7000-8000-000000000001"
    mine = DeliveryFactory(chatbot=chatbot, thread_id=thread)
    DeliveryFactory(chatbot=chatbot, thread_id=thread)
    DeliveryFactory(chatbot=chatbot)
    text = {"delivery": str(mine.pk), "thread": thread, "other": "503 in 41 ms"}[term]
    rows, _ = rows_and_next(client, f"{LOG}?q={quote(text)}")
    assert len(rows) == found
