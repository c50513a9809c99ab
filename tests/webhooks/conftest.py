"""A real receiver, and an endpoint that delivers to it."""

import time

import pytest
from django.utils import timezone

from tests.factories.webhooks import EndpointFactory
from tests.servers import certificates
from tests.servers.receiver import Receiver
from webhooks.engine import claims


@pytest.fixture
def receiver():
    with Receiver(certificates.good()) as receiver:
        yield receiver


@pytest.fixture
def endpoint(receiver):
    endpoint = EndpointFactory(url=receiver.url("/hook"), last_success_at=timezone.now())
    claims._rotation.note_answer(endpoint.chatbot_id, time.monotonic())
    return endpoint
