"""The delivery log's tabs show how many deliveries have failed and how many are being retried."""

import re
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatbots.models import Chatbot
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import signed_in, superuser
from tests.factories.webhooks import DeliveryFactory

LOG = reverse("admin:webhooks_delivery_changelist")
FAILED = {"state": "FAILED", "due_at": None}


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
