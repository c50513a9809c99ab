"""Fixtures: an endpoint at the test receiver, a pending delivery, and settings for sending it."""

from typing import Any

import pytest
from django.utils import timezone

from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers import certificates
from tests.servers.receiver import Receiver
from webhooks.models import Delivery, Endpoint


@pytest.fixture
def endpoint(receiver: Receiver) -> Endpoint:
    return EndpointFactory(
        url=receiver.url("/hook"), last_success_at=timezone.now(), attempts_limit=8
    )


@pytest.fixture
def delivery(endpoint: Endpoint) -> Delivery:
    return DeliveryFactory(chatbot=endpoint.chatbot)


@pytest.fixture
def trusting(settings: Any) -> None:
    """Trust the test certificates, and delay retries so long that none is due during a test."""
    settings.WEBHOOK_CA_BUNDLE = certificates.ca_file()
    settings.WEBHOOK_TIMEOUT = 60.0
    settings.WEBHOOK_RETRY_DELAYS = (600.0, 1200.0, 1800.0)
