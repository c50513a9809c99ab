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


class TestHealth:
    """The list shows health states, and the page also shows times and counts."""

    @pytest.fixture
    def endpoint(self, chatbot: Chatbot) -> Endpoint:
        return EndpointFactory(chatbot=chatbot)

    @pytest.mark.parametrize(
        ("fields", "state"),
        [
            ({"last_success_at": SINCE}, "healthy"),
            ({}, "untried"),
            ({"failing_since": SINCE}, "failing"),
            ({"failing_since": SINCE, "is_active": False}, "off"),
            ({"is_active": False}, "off"),
            ({"sealed_secret": "not sealed with any key"}, "secret cannot be decrypted"),
        ],
    )
    def test_the_list_and_the_page_show_the_state(
        self, client: Client, address: str, endpoint: Endpoint, fields: dict[str, Any], state: str
    ) -> None:
        Endpoint.objects.update(**fields)
        assert states_of(client) == [state]
        assert f">{state}</span>" in client.get(address).content.decode()

    @pytest.mark.parametrize(
        ("query", "states"),
        [
            ("", ["failing", "healthy", "off", "untried"]),
            ("?state=failing", ["failing"]),
            ("?state=healthy", ["healthy"]),
            ("?state=untried", ["untried"]),
            ("?state=off", ["off"]),
            ("?state=nonsense", ["failing", "healthy", "off", "untried"]),
        ],
    )
    def test_the_list_can_be_filtered_by_state(
        self, chatbot: Chatbot, query: str, states: list[str]
    ) -> None:
        EndpointFactory(chatbot=chatbot, failing_since=SINCE)
        EndpointFactory(failing_since=SINCE, is_active=False)
        EndpointFactory(last_success_at=SINCE)
        EndpointFactory()
        assert states_of(signed_in(superuser()), query) == states

    def test_the_page_shows_when_the_failures_began_and_when_the_owner_was_notified(
        self, client: Client, address: str, endpoint: Endpoint
    ) -> None:
        assert "Owner notified" not in client.get(address).content.decode()
        Endpoint.objects.update(
            failing_since=SINCE, failures_in_a_row=12, owner_told_at=SINCE + timedelta(hours=1)
        )
        text = client.get(address).content.decode()
        assert "2026-03-01 08:30 UTC</time> (12 in a row)" in text
        assert re.search(r"Owner notified</dt><dd><time [^>]*>2026-03-01 09:30 UTC<", text)

    def test_the_page_of_an_unreadable_secret_says_what_to_do(
        self, client: Client, address: str, endpoint: Endpoint
    ) -> None:
        advice = "Replace the secret: no key of this service can decrypt"
        assert advice not in client.get(address).content.decode()
        Endpoint.objects.update(sealed_secret="not sealed with any key")
        assert advice in client.get(address).content.decode()
        replace = reverse("admin:webhooks_endpoint_secret", args=[endpoint.chatbot_id])
        client.post(replace, {"secret_choice": "make"})
        assert states_of(client) == ["untried"]

    def test_the_page_shows_the_figures_of_the_last_day(
        self, client: Client, address: str, endpoint: Endpoint
    ) -> None:
        bot = endpoint.chatbot
        for ms in range(1, 101):
            DeliveryFactory(chatbot=bot, state="SUCCESS", due_at=None, last_ms=ms, last_code=200)
        DeliveryFactory(chatbot=bot, state="FAILED", due_at=None, last_ms=9_000, last_code=500)
        DeliveryFactory(chatbot=bot)
        DeliveryFactory(chatbot=bot, is_test=True, state="FAILED", due_at=None)
        long_ago = timezone.now() - timedelta(days=2)
        old = DeliveryFactory(
            chatbot=bot, id=first_id_of(long_ago), state="FAILED", due_at=None, last_ms=9_000
        )
        Delivery.objects.filter(pk=old.pk).update(created_at=long_ago)
        waits = {"state": "FAILED", "claim": None, "due_at": timezone.now()}
        Delivery.objects.filter(pk=old.pk).update(**waits)  # a manual retry
        text = client.get(address).content.decode()
        assert "<dt>Last 24 h</dt><dd>100 ok, 1 failed</dd>" in text
        assert "<dt>Waiting</dt><dd>2</dd>" in text
        assert "median 50 ms, p95 95 ms</dd>" in text
