"""An endpoint at the receiver's address, and the lock timeout of a worker."""

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
    """Give this process the lock timeout of a worker."""
    with limited_waits():
        yield
