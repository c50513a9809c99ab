"""Provide an endpoint at the receiver's address, and give this process a worker's lock timeout."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from tests.factories.webhooks import EndpointFactory
from tests.servers.locks import limited_waits
from tests.servers.receiver import Receiver
from webhooks.models import Endpoint


@pytest.fixture
def endpoint(transactional_db: None, receiver: Receiver, settings: Any) -> Endpoint:
    settings.WEBHOOK_RETRY_DELAYS = (0.2, 0.4, 0.6)
    return EndpointFactory(url=receiver.url("/hook"), last_success_at=timezone.now())


@pytest.fixture
def limits(transactional_db: None) -> Iterator[None]:
    """Make this process wait for locks no longer than a worker does."""
    with limited_waits():
        yield
