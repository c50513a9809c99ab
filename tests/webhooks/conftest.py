"""A real receiver, and an endpoint that delivers to it."""

from collections.abc import Iterator

import pytest
from django.utils import timezone

from tests.factories.webhooks import EndpointFactory
from tests.servers import certificates
from tests.servers.receiver import Receiver
from webhooks.models import Endpoint


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver(certificates.good()) as receiver:
        yield receiver


@pytest.fixture
def endpoint(receiver: Receiver) -> Endpoint:
    return EndpointFactory(
        url=receiver.url("/hook"), last_success_at=timezone.now(), attempts_limit=8
    )
