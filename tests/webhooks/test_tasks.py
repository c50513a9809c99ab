"""Celery messages with several deliveries."""

import threading
from concurrent.futures import wait

import pytest
from django.db import connection

from config.runtime.logs import JsonFormatter, SecretsFilter
from tests.factories.webhooks import SECRET, DeliveryFactory
from tests.patience import PATIENCE
from tests.servers import certificates
from tests.webhooks.engine.steps import ME, OK
from webhooks import tasks
from webhooks.engine import attempt, claims, post
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def message(endpoint, settings):
    """Claim three deliveries together; returns the arguments of their message."""
    settings.WEBHOOK_CA_BUNDLE = certificates.ca_file()
    settings.WEBHOOK_TIMEOUT = PATIENCE
    DeliveryFactory.create_batch(3, chatbot=endpoint.chatbot)
    claimed = claims.claim(ME, slots=32)
    [claim] = {one.claim for one in claimed}
    return [str(claim), *(str(one.delivery_id) for one in claimed)]


def states():
    return sorted(Delivery.objects.values_list("state", "attempts_count"))


def test_the_deliveries_of_a_message_are_attempted_in_parallel(receiver, message):
    all_are_there = threading.Barrier(3)

    def take(arrival):
        all_are_there.wait(PATIENCE)
        yield from OK(arrival)

    receiver.on("/hook", take)
    tasks.deliver(*message)
    assert states() == [("SUCCESS", 1)] * 3


@pytest.mark.parametrize("at", [1, 2], ids=["in the task's thread", "in another one"])
def test_an_unexpected_error_of_one_delivery_is_logged_and_leaves_the_others(
    message, monkeypatch, at
):
    send = attempt.send

    def stumble(work):
        if str(work.delivery_id) == message[at]:
            raise ZeroDivisionError
        return send(work)

    monkeypatch.setattr(attempt, "send", stumble)
    with pytest.raises(ZeroDivisionError):
        tasks.deliver(*message)
    assert states() == [("PENDING", 0), ("SUCCESS", 1), ("SUCCESS", 1)]


def test_no_connection_is_held_while_the_other_deliveries_run(message, monkeypatch):
    held = []

    def watch(begun):
        held.append(connection.connection)
        return wait(begun)

    monkeypatch.setattr(tasks, "wait", watch)
    tasks.deliver(*message)
    assert held == [None]


def test_the_second_of_two_equal_messages_finds_nothing(receiver, message):
    tasks.deliver(*message)
    tasks.deliver(*message)
    assert len(receiver.arrivals) == 3


def test_an_unexpected_error_that_quotes_the_request_logs_no_secret(
    message, endpoint, monkeypatch, caplog
):
    """The log, formatted as the service writes it."""

    def stumble(url, *, headers, **_):
        raise ZeroDivisionError(f"{url}: {headers}")

    monkeypatch.setattr(post, "post", stumble)
    caplog.handler.addFilter(SecretsFilter())
    caplog.handler.setFormatter(JsonFormatter())
    tasks.deliver.apply(message[:2])
    endpoint.refresh_from_db()
    assert "ZeroDivisionError" in caplog.text
    assert endpoint.url in caplog.text
    assert SECRET not in caplog.text
    assert endpoint.sealed_secret not in caplog.text
