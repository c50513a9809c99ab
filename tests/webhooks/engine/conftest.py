"""A delivery on its way to a real receiver."""

from typing import Any

import pytest

from tests.factories.webhooks import DeliveryFactory
from tests.servers import certificates
from webhooks.models import Delivery, Endpoint


@pytest.fixture
def trusting(settings: Any) -> None:
    """Trust our own certificates, and let no delivery become due or late by itself."""
    settings.WEBHOOK_CA_BUNDLE = certificates.ca_file()
    settings.WEBHOOK_TIMEOUT = 60.0
    settings.WEBHOOK_RETRY_DELAYS = (600.0, 1200.0, 1800.0)


@pytest.fixture
def delivery(endpoint: Endpoint) -> Delivery:
    return DeliveryFactory(chatbot=endpoint.chatbot)
