"""The delivery log shows the right deliveries, and a page runs few statements and uses indexes."""

import json
import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from tests.factories.accounts import AccountFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff, superuser
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.admin import delivery_list
from webhooks.models import Delivery

LOG = reverse("admin:webhooks_delivery_changelist")


@pytest.fixture
def bots(default_model: Any) -> list[Chatbot]:
    account = AccountFactory()
    return [ChatbotFactory(account=account) for _ in range(3)]


@pytest.fixture
def client(bots: list[Chatbot]) -> Client:
    return signed_in(staff(bots[0].account.owner, ACCOUNT_ADMINS))


def pages(client: Client, query: str) -> list[str]:
    """Follow the links to the next pages, and return the ids of all rows in order."""
    found, link = [], query
    while link is not None:
        text = client.get(f"{LOG}{link}").text
        found += dict.fromkeys(re.findall(r"/delivery/([0-9a-f-]{36})/change/", text))
        following = re.search(r'href="([^"]+)" rel="next"', text)
        link = following[1].replace("&amp;", "&") if following else None
    return found


@pytest.mark.parametrize("query", ["", "?state__exact=FAILED", "?event__exact=NEW_MESSAGE"])
def test_the_pages_hold_every_delivery_of_the_chatbots_once_in_order(
    client: Client, bots: list[Chatbot], query: str
) -> None:
    now, ended = timezone.now(), {"state": "FAILED", "due_at": None}
    rows = [
        DeliveryFactory(chatbot=bots[0 if number < 60 else number % 3], **ended)
        for number in range(90)
    ]
    for number, row in enumerate(rows):  # groups of four rows share a creation time
        when = now - timedelta(seconds=number // 4)
        Delivery.objects.filter(pk=row.pk).update(created_at=when)
    DeliveryFactory(**ended)
    mine = Delivery.objects.filter(chatbot__in=bots).order_by("-created_at", "-id")
    ids = [str(key) for key in mine.values_list("pk", flat=True)]
    assert pages(client, query) == ids
    export = reverse("admin:webhooks_delivery_export", args=["json"])
    text = b"".join(client.get(f"{export}{query}").streaming_content)
    assert [row["id"] for row in json.loads(text)] == ids


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages examine fewer rows: about 9 for a superuser, or 26 per chatbot for other users."""
    monkeypatch.setattr(delivery_list, "LOOKED_AT", 9)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["staff", "superuser"])
@pytest.mark.parametrize(
    "query",
    [
        "?event__exact=NEW_LEAD",
        "?event__exact=NEW_LEAD&state__exact=SUCCESS",
        "?event__exact=NEW_LEAD&code=2xx",
        "?event__exact=NEW_LEAD&chatbot={bot}",
        "?event__exact=NEW_LEAD&is_test__exact=0",
        "?event__exact=NEW_LEAD&created_at_from_0=2020-01-01&created_at_from_1=00:00:00"
        "&created_at_to_0=2120-01-01&created_at_to_1=00:00:00",
    ],
)
def test_looking_further_back_finds_every_match_once(
    client: Client, bots: list[Chatbot], near: None, who: str, query: str
) -> None:
    now = timezone.now()
    for number in range(80):
        event = "NEW_LEAD" if number % 17 == 0 else "NEW_MESSAGE"
        row = DeliveryFactory(chatbot=bots[0], event=event, state="SUCCESS", due_at=None)
        when = now - timedelta(seconds=number // 4)  # groups of four rows share a creation time
        Delivery.objects.filter(pk=row.pk).update(created_at=when)
    asking = client if who == "staff" else signed_in(superuser())
    matching = Delivery.objects.filter(event="NEW_LEAD").order_by("-created_at", "-id")
    ids = [str(key) for key in matching.values_list("pk", flat=True)]
    assert len(ids) == 5
    assert pages(asking, query.format(bot=bots[0].pk)) == ids


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
