"""Secrets, addresses and keys change while a worker is making deliveries."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command

from tests.factories.webhooks import SECRET, DeliveryFactory, EndpointFactory
from tests.patience import PATIENCE
from tests.servers.behaviors import Arrival, Behavior, Step, answer
from tests.servers.processes import Worker, wait_until
from tests.servers.receiver import Receiver
from webhooks import sealing, signing
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.services.endpoint import configure

OK = answer()


@pytest.fixture
def changed() -> threading.Event:
    return threading.Event()


@pytest.fixture
def held(changed: threading.Event) -> Behavior:
    """A behavior that waits until `changed` is set, and then responds with 503."""

    def behavior(arrival: Arrival) -> Iterator[Step]:
        changed.wait(PATIENCE)
        yield from answer(503)(arrival)

    return behavior


@pytest.mark.proves("Request headers", "Delivery rules/5")
def test_the_next_attempt_uses_the_new_secret_and_the_new_address(
    receiver: Receiver, endpoint: Endpoint, held: Behavior, changed: threading.Event
) -> None:
    receiver.on("/hook", held)
    delivery = DeliveryFactory(chatbot=endpoint.chatbot)
    body, new, url = bytes(delivery.body), "another-secret-of-the-tests", receiver.url("/new")
    with Worker() as worker:
        receiver.wait_for(1)
        configure(endpoint.chatbot, url=url, secret=new)
        changed.set()
        wait_until(lambda: Delivery.objects.get().state == "SUCCESS", told=worker.said)
    for arrival, path, secret in zip(
        receiver.arrivals, ("/hook", "/new"), (SECRET, new), strict=True
    ):
        assert (arrival.path, arrival.body) == (path, body)
        assert signing.headers(body, secret).items() <= dict(arrival.headers).items()
    assert list(delivery.attempts.values_list("url", "signature")) == [
        (endpoint.url, signing.headers(body, SECRET)["X-SIGNATURE"]),
        (url, signing.headers(body, new)["X-SIGNATURE"]),
    ]


def test_no_delivery_fails_while_the_encryption_keys_are_rotated(
    receiver: Receiver, endpoint: Endpoint, held: Behavior, changed: threading.Event, settings: Any
) -> None:
    endpoints = [endpoint, *(EndpointFactory(url=receiver.url("/hook")) for _ in range(4))]
    [old] = settings.ENCRYPTION_KEYS
    settings.ENCRYPTION_KEYS = (Fernet.generate_key().decode(), old)
    receiver.on("/hook", held, OK)
    for each in endpoints:
        DeliveryFactory(chatbot=each.chatbot)
    with Worker(ENCRYPTION_KEYS=",".join(settings.ENCRYPTION_KEYS)) as worker:
        receiver.wait_for(1)
        call_command("rotate_encryption_keys")
        changed.set()
        for each in endpoints:
            DeliveryFactory(chatbot=each.chatbot)
        ended = Delivery.objects.filter(state="SUCCESS")
        wait_until(lambda: ended.count() == 2 * len(endpoints), told=worker.said)
    assert all(map(sealing.is_newest, Endpoint.objects.values_list("sealed_secret", flat=True)))
    assert {arrival.header("X-WEBHOOK-TOKEN") for arrival in receiver.arrivals} == {SECRET}
    assert set(Attempt.objects.values_list("reason", flat=True)) == {""}
    assert Attempt.objects.exclude(status="SUCCESS").get().response_code == 503, "the held attempt"
