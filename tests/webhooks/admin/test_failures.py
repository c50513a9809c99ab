"""Failures are grouped by cause, and each group links to the deliveries in the log."""

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from chatbots.models import Chatbot
from tests.factories.staff import AGENTS, signed_in, staff
from tests.factories.webhooks import DeliveryFactory

CAUSES = reverse("admin:webhooks_delivery_causes")
LOG = reverse("admin:webhooks_delivery_changelist")


@pytest.fixture
def client(chatbot: Chatbot) -> Client:
    return signed_in(staff(chatbot.account.owner, AGENTS))


def listed(client: Client, address: str) -> int:
    return len(set(re.findall(r"/delivery/([0-9a-f-]{36})/change/", client.get(address).text)))


def test_failures_are_grouped_by_cause_with_advice_and_a_link(
    client: Client, chatbot: Chatbot
) -> None:
    ended = {"state": "FAILED", "due_at": None, "attempts_count": 4}
    for _ in range(3):
        DeliveryFactory(chatbot=chatbot, last_code=503, **ended)
    DeliveryFactory(chatbot=chatbot, last_reason="TIMEOUT", **ended)
    DeliveryFactory(chatbot=chatbot, last_code=200, **ended | {"state": "SUCCESS"})
    DeliveryFactory(last_code=404, **ended)
    text = client.get(CAUSES).text
    rows = re.findall(r"<tr>\s*<td>.*?</tr>", text, re.DOTALL)
    assert [re.search(r"\d+|timeout", re.sub("<[^>]*>", "", row))[0] for row in rows] == [
        "503",
        "timeout",
    ]
    assert "look at its own log" in rows[0]
    assert "<td>3<" in rows[0]
    links = [unescape(re.search(r'href="([^"]+)"', row)[1]) for row in rows]
    assert [listed(client, link) for link in links] == [3, 1]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("code=5xx", 3),
        ("code=4xx", 1),
        ("code=none", 1),
        ("code=2xx", 1),
        ("code=6xx", 0),
        ("cause=503", 1),
        ("cause=TIMEOUT", 1),
        ("cause=nonsense", 0),
        ("code=5xx&cause=500", 1),
        ("cause=999", 1),
    ],
)
def test_the_log_can_be_filtered_by_code_and_cause(
    client: Client, chatbot: Chatbot, query: str, count: int
) -> None:
    for code, reason in ((500, ""), (503, ""), (999, ""), (404, ""), (None, "TIMEOUT")):
        DeliveryFactory(chatbot=chatbot, attempts_count=1, last_code=code, last_reason=reason)
    DeliveryFactory(chatbot=chatbot, attempts_count=1, last_code=204, state="SUCCESS")
    DeliveryFactory(chatbot=chatbot)
    assert listed(client, f"{LOG}?{query}") == count
