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


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "1 delivery"), (2, "2 deliveries"), (25, "25 deliveries"), (26, "Next page")],
)
def test_a_list_of_one_page_says_how_many_rows_it_has(
    client: Client, chatbot: Chatbot, count: int, words: str
) -> None:
    fill(chatbot, count)
    [footer] = re.findall(r'<nav class="older"[^>]*>(.*?)</nav>', client.get(LOG).text, re.DOTALL)
    assert " ".join(re.sub("<[^>]*>", "", footer).split()) == words


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


def test_a_position_may_have_any_time_zone(client: Client, chatbot: Chatbot) -> None:
    """PostgreSQL itself rejects UTC offsets of 16 hours or more."""
    [row] = fill(chatbot, 1)
    place = f"2100-01-01T00:00:00+23:59~{'0' * 32}"
    assert rows_and_next(client, f"{LOG}?after={quote(place)}")[0] == [row]


@pytest.mark.parametrize("query", ["o=1", "o=-3.2", "p=7", "all="])
def test_other_orders_and_page_numbers_are_ignored(
    client: Client, chatbot: Chatbot, query: str
) -> None:
    wanted = fill(chatbot, 30)
    rows, _ = rows_and_next(client, f"{LOG}?{query}")
    assert rows == wanted[:25]


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


@pytest.mark.parametrize("name", ["webhooks_delivery", "accounts_apikey", "conversations_thread"])
@pytest.mark.parametrize("chosen", ["x", "", "\0"])
def test_an_action_on_an_invalid_id_is_a_bad_request(
    client: Client, name: str, chosen: str
) -> None:
    address = reverse(f"admin:{name}_changelist")
    for action in ("retry_selected", "revoke_selected", "resolve_selected"):
        answer = client.post(address, {"action": action, "_selected_action": chosen, "index": "0"})
        assert answer.status_code == 400


def test_an_action_applies_only_to_the_selected_rows(client: Client, chatbot: Chatbot) -> None:
    first, *_ = fill(chatbot, 3, state="FAILED", due_at=None)
    body = {"action": "retry_selected", "_selected_action": first, "select_across": "1"}
    client.post(LOG, body | {"index": "0"})
    assert [str(row.pk) for row in Delivery.objects.filter(due_at__isnull=False)] == [first]


@pytest.mark.parametrize("query", ["created_at_from_0=x&created_at_from_1=y", "after=x"])
@pytest.mark.parametrize("name", ["causes", "retry_all", "export_page", "export"])
def test_an_invalid_filter_is_a_bad_request_on_the_pages_of_a_list(
    client: Client, chatbot: Chatbot, name: str, query: str
) -> None:
    DeliveryFactory(chatbot=chatbot, state="FAILED", due_at=None)
    address = reverse(f"admin:webhooks_delivery_{name}", args=["csv"] if name == "export" else [])
    assert client.get(f"{address}?{query}").status_code == 400
