"""The delivery log lists, finds and filters deliveries, and groups the failures by cause."""

import json
import re
from datetime import timedelta
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.admin import delivery_list
from webhooks.models import Delivery

LOG = reverse("admin:webhooks_delivery_changelist")
CAUSES = reverse("admin:webhooks_delivery_causes")


@pytest.fixture
def bots(default_model: Any) -> list[Chatbot]:
    account = AccountFactory()
    return [ChatbotFactory(account=account) for _ in range(3)]


@pytest.fixture
def client(bots: list[Chatbot]) -> Client:
    return signed_in(bots[0].account.owner)


def pages(client: Client, query: str) -> list[str]:
    """Follow the links to the next pages, and return the ids of all rows in order."""
    found, link = [], query
    while link is not None:
        text = client.get(f"{LOG}{link}").text
        found += dict.fromkeys(re.findall(r"/delivery/([0-9a-f-]{36})/change/", text))
        following = re.search(r'href="([^"]+)" rel="next"', text)
        link = following[1].replace("&amp;", "&") if following else None
    return found


def ids(**fields: Any) -> list[str]:
    """Return the ids of the matching deliveries, newest first."""
    rows = Delivery.objects.filter(**fields).order_by("-created_at", "-id")
    return [str(key) for key in rows.values_list("pk", flat=True)]


def in_groups_of_four(rows: list[Delivery]) -> None:
    """Give groups of four deliveries the same creation time."""
    now = timezone.now()
    for number, row in enumerate(rows):
        when = now - timedelta(seconds=number // 4)
        Delivery.objects.filter(pk=row.pk).update(created_at=when)


@pytest.mark.parametrize("query", ["", "?state__exact=FAILED", "?event__exact=NEW_MESSAGE"])
def test_the_pages_hold_every_delivery_of_the_chatbots_once_in_order(
    client: Client, bots: list[Chatbot], query: str
) -> None:
    ended = {"state": "FAILED", "due_at": None}
    in_groups_of_four(
        [
            DeliveryFactory(chatbot=bots[0 if number < 60 else number % 3], **ended)
            for number in range(90)
        ]
    )
    DeliveryFactory(**ended)
    mine = ids(chatbot__in=bots)
    assert pages(client, query) == mine
    export = reverse("admin:webhooks_delivery_export", args=["json"])
    text = b"".join(client.get(f"{export}{query}").streaming_content)
    assert [row["id"] for row in json.loads(text)] == mine


@pytest.mark.slow
@pytest.mark.parametrize("who", ["staff", "superuser"])
@pytest.mark.parametrize(
    "query", ["", "&state__exact=SUCCESS", "&code=2xx", "&chatbot={bot}", "&is_test__exact=0"]
)
def test_looking_further_back_finds_every_match_once(
    client: Client, bots: list[Chatbot], monkeypatch: pytest.MonkeyPatch, who: str, query: str
) -> None:
    monkeypatch.setattr(delivery_list, "LOOKED_AT", 9)  # rows that one page examines
    ended = {"chatbot": bots[0], "state": "SUCCESS", "due_at": None}
    in_groups_of_four(
        [
            DeliveryFactory(event="NEW_MESSAGE" if number % 17 else "NEW_LEAD", **ended)
            for number in range(80)
        ]
    )
    asking = client if who == "staff" else signed_in(superuser())
    matching = ids(event="NEW_LEAD")
    assert len(matching) == 5
    assert pages(asking, "?event__exact=NEW_LEAD" + query.format(bot=bots[0].pk)) == matching


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("state__exact=FAILED", 1),
        ("event__exact=NEW_LEAD", 1),
        ("event__exact=NEW_LEAD&state__exact=FAILED", 0),
        ("created_at_from_0=2000-01-01&created_at_from_1=00:00:00", 8),
        ("created_at_to_0=2000-01-01&created_at_to_1=00:00:00", 0),
        *(("code=5xx", 3), ("code=4xx", 1), ("code=3xx", 1), ("code=2xx", 1), ("code=6xx", 0)),
        ("code=none", 1),
        *(("cause=503", 1), ("cause=TIMEOUT", 1), ("cause=nonsense", 0), ("cause=999", 1)),
        ("code=5xx&cause=500", 1),
    ],
)
def test_the_log_can_be_filtered(
    client: Client, bots: list[Chatbot], query: str, count: int
) -> None:
    tried = {"chatbot": bots[0], "attempts_count": 1}
    for code in (500, 503, 999, 404, 301):
        DeliveryFactory(last_code=code, **tried)
    DeliveryFactory(last_code=None, last_reason="TIMEOUT", state="FAILED", **tried)
    DeliveryFactory(last_code=204, state="SUCCESS", event="NEW_LEAD", **tried)
    DeliveryFactory(chatbot=bots[0])
    assert len(pages(client, f"?{query}")) == count


def test_an_empty_log_says_whether_a_webhook_is_configured(
    client: Client, bots: list[Chatbot]
) -> None:
    EndpointFactory()
    assert "No webhook is configured. <a " in client.get(LOG).text
    EndpointFactory(chatbot=bots[0])
    assert "No events have occurred yet." in client.get(LOG).text


@pytest.mark.parametrize("query", ["state__exact=FAILED", "event__exact=NEW_LEAD", "code=5xx"])
def test_a_search_by_id_is_combined_with_the_filters(
    client: Client, bots: list[Chatbot], query: str
) -> None:
    ended = {"due_at": None, "thread_id": uuid4()}
    DeliveryFactory(chatbot=bots[0], state="SUCCESS", last_code=200, **ended)
    failed = {"state": "FAILED", "last_code": 503, "event": "NEW_LEAD", "attempts_count": 4}
    wanted = DeliveryFactory(chatbot=bots[0], **ended | failed)
    DeliveryFactory(chatbot=ChatbotFactory(), **ended | failed)  # another account's
    DeliveryFactory(chatbot=bots[0], **ended | failed | {"thread_id": uuid4()})
    assert pages(client, f"?q={wanted.thread_id}&{query}") == [str(wanted.pk)]


def test_failures_are_grouped_by_cause_with_advice_and_a_link(
    client: Client, bots: list[Chatbot]
) -> None:
    failed = {"chatbot": bots[0], "state": "FAILED", "due_at": None, "attempts_count": 4}
    for _ in range(3):
        DeliveryFactory(last_code=503, **failed)
    DeliveryFactory(last_reason="TIMEOUT", **failed)
    DeliveryFactory(last_code=200, **failed | {"state": "SUCCESS"})
    DeliveryFactory(last_code=404, **failed | {"chatbot": ChatbotFactory()})
    rows = re.findall(r"<tr>\s*<td>.*?</tr>", client.get(CAUSES).text, re.DOTALL)
    causes = [re.search(r"\d+|timeout", re.sub("<[^>]*>", "", row))[0] for row in rows]
    assert causes == ["503", "timeout"]
    assert "look at its own log" in rows[0]
    assert "<td>3<" in rows[0]
    links = [unescape(re.search(r'href="([^"]+)"', row)[1]) for row in rows]
    assert [len(pages(client, link.removeprefix(LOG))) for link in links] == [3, 1]
