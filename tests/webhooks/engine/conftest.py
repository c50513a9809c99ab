"""A delivery on its way to a real receiver."""

import pytest
from django.utils import timezone

from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers import certificates
from tests.servers.receiver import Receiver


@pytest.fixture
def trusting(settings):
    """Let our own certificates be trusted, and nothing become due or late by itself."""
    settings.WEBHOOK_CA_BUNDLE = certificates.ca_file()
    settings.WEBHOOK_TIMEOUT = 60.0
    settings.WEBHOOK_RETRY_DELAYS = (600.0, 1200.0, 1800.0)


@pytest.fixture
def receiver():
    with Receiver(certificates.good()) as receiver:
        yield receiver


@pytest.fixture
def endpoint(receiver):
    return EndpointFactory(url=receiver.url("/hook"), last_success_at=timezone.now())


@pytest.fixture
def delivery(endpoint):
    return DeliveryFactory(chatbot=endpoint.chatbot)
