"""A real receiver, and an endpoint that delivers to it."""

import pytest
from django.utils import timezone

from tests.factories.webhooks import EndpointFactory
from tests.servers import certificates
from tests.servers.receiver import Receiver


@pytest.fixture
def receiver():
    with Receiver(certificates.good()) as receiver:
        yield receiver


@pytest.fixture
def endpoint(receiver):
    return EndpointFactory(
        url=receiver.url("/hook"), last_success_at=timezone.now(), attempts_limit=8
    )
