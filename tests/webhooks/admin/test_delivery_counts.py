"""The delivery log's tabs show how many deliveries have failed and how many are being retried."""

import re
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory
from webhooks.models import Delivery

LOG = reverse("admin:webhooks_delivery_changelist")
FAILED = {"state": "FAILED", "due_at": None}
MOST = 11  # maximum number of SQL statements per page


def tabs(client: Client, query: str = "") -> list[str]:
    """Return the labels of the tabs."""
    text = client.get(f"{LOG}{query}").text
    [row] = re.findall(r'aria-label="States">(.*?)</nav>', text, re.S)
    found = re.findall(r"<a [^>]*>(.*?)</a>", row, re.S)
    return [" ".join(re.sub("<[^>]+>", " ", one).split()) for one in found]


@pytest.fixture
def deliveries(chatbot: Chatbot) -> None:
    for _ in range(2):
        DeliveryFactory(chatbot=chatbot, **FAILED)
    DeliveryFactory(chatbot=chatbot, state="RETRYING", due_at=timezone.now())
    running = {"claim": uuid4(), "claimed_by": "worker"}
    DeliveryFactory(chatbot=chatbot, state="RETRYING", due_at=timezone.now(), **running)
    DeliveryFactory(chatbot=chatbot, state="FAILED", due_at=timezone.now())  # a manual retry
    DeliveryFactory(chatbot=chatbot)
    other = ChatbotFactory()
    DeliveryFactory(chatbot=other, **FAILED)
    DeliveryFactory(chatbot=other, state="RETRYING", due_at=timezone.now())


@pytest.mark.usefixtures("deliveries")
def test_the_tabs_count_failed_and_retrying_deliveries(client: Client) -> None:
    assert tabs(client) == ["Failed 3", "Retrying 2", "Pending", "Success", "All"]
    assert tabs(client, "?state__exact=PENDING")[:2] == ["Failed 3", "Retrying 2"]
    assert tabs(signed_in(superuser()))[:2] == ["Failed 4", "Retrying 3"]


@pytest.mark.usefixtures("deliveries")
@pytest.mark.parametrize("query", ["?event__exact=NEW_LEAD", f"?q={UUID(int=1)}", "?code=5xx"])
def test_the_tabs_of_a_filtered_log_have_no_counts(client: Client, query: str) -> None:
    assert tabs(client, query)[:2] == ["Failed", "Retrying"]


@pytest.mark.usefixtures("deliveries")
def test_the_tabs_of_an_empty_list_still_have_counts(client: Client, chatbot: Chatbot) -> None:
    for query in ("?state__exact=SUCCESS", "?state__exact=SUCCESS&after="):
        with CaptureQueriesContext(connection) as made:
            assert tabs(client, query)[:2] == ["Failed 3", "Retrying 2"]
        assert len(made) <= MOST
    text = client.get(f"{LOG}?state__exact=SUCCESS").text
    assert "No deliveries match. 6 in the last 24 h without this filter." in text
    Delivery.objects.update(state="SUCCESS", due_at=None)
    assert tabs(client)[:2] == ["Failed", "Retrying"]
