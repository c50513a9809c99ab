"""The webhook's page and the list of webhooks show an endpoint's health."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.ids import first_id_of
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.models import Delivery, Endpoint

SINCE = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)


def states_of(client: Client, query: str = "") -> list[str]:
    """Return the health states that the list of webhooks shows, in alphabetical order."""
    text = client.get(reverse("admin:webhooks_endpoint_changelist") + query).content.decode()
    return sorted(
        re.findall(r">\s*(healthy|untried|failing|off|secret cannot be decrypted)\s*</span>", text)
    )


@pytest.fixture
def endpoint(chatbot: Chatbot) -> Endpoint:
    return EndpointFactory(chatbot=chatbot)


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"last_success_at": SINCE}, "healthy"),
        ({}, "untried"),
        ({"failing_since": SINCE}, "failing"),
        ({"failing_since": SINCE, "is_active": False}, "off"),
        ({"sealed_secret": "not sealed with any key"}, "secret cannot be decrypted"),
    ],
)
def test_the_list_and_the_page_show_the_state(
    client: Client, address: str, endpoint: Endpoint, fields: dict[str, Any], state: str
) -> None:
    Endpoint.objects.update(**fields)
    assert states_of(client) == [state]
    assert f">{state}</span>" in client.get(address).text


@pytest.mark.parametrize("state", ["failing", "healthy", "untried", "off", "nonsense"])
def test_the_list_can_be_filtered_by_state(chatbot: Chatbot, state: str) -> None:
    EndpointFactory(chatbot=chatbot, failing_since=SINCE)
    EndpointFactory(failing_since=SINCE, is_active=False)
    EndpointFactory(last_success_at=SINCE)
    EndpointFactory()
    every = ["failing", "healthy", "off", "untried"]
    shown = [state] if state in every else every
    assert states_of(signed_in(superuser()), f"?state={state}") == shown


def test_the_page_shows_when_the_failures_began_and_when_the_owner_was_notified(
    client: Client, address: str, endpoint: Endpoint
) -> None:
    untried = client.get(address).text
    assert "Failing since</dt><dd>not failing</dd>" in untried
    assert "Owner notified" not in untried
    told = SINCE + timedelta(hours=1)
    Endpoint.objects.update(failing_since=SINCE, failures_in_a_row=12, owner_told_at=told)
    text = client.get(address).text
    assert "2026-03-01 08:30 UTC</time> (12 in a row)" in text
    assert re.search(r"Owner notified</dt><dd><time [^>]*>2026-03-01 09:30 UTC<", text)


def test_the_page_of_an_unreadable_secret_says_what_to_do(
    client: Client, address: str, endpoint: Endpoint
) -> None:
    advice = "Replace the secret: no key of this service can decrypt"
    assert advice not in client.get(address).text
    Endpoint.objects.update(sealed_secret="not sealed with any key")
    assert advice in client.get(address).text
    replace = reverse("admin:webhooks_endpoint_secret", args=[endpoint.chatbot_id])
    client.post(replace, {"secret_choice": "make"})
    assert states_of(client) == ["untried"]


def test_the_page_shows_the_figures_of_the_last_day(
    client: Client, address: str, endpoint: Endpoint
) -> None:
    bot = endpoint.chatbot
    ended = {"chatbot": bot, "due_at": None}
    for ms in range(1, 101):
        DeliveryFactory(state="SUCCESS", last_ms=ms, last_code=200, **ended)
    DeliveryFactory(state="FAILED", last_ms=9_000, last_code=500, **ended)
    DeliveryFactory(chatbot=bot)
    DeliveryFactory(is_test=True, state="FAILED", **ended)
    long_ago = timezone.now() - timedelta(days=2)
    old = DeliveryFactory(id=first_id_of(long_ago), state="FAILED", last_ms=9_000, **ended)
    manual_retry = {"created_at": long_ago, "claim": None, "due_at": timezone.now()}
    Delivery.objects.filter(pk=old.pk).update(**manual_retry)
    text = client.get(address).text
    assert "<dt>Last 24 h</dt><dd>100 ok, 1 failed</dd>" in text
    assert "<dt>Waiting</dt><dd>2</dd>" in text
    assert "median 50 ms, p95 95 ms</dd>" in text
