"""Celery tasks make delivery attempts and advance retry jobs."""

import threading
from itertools import pairwise
from typing import Any, NoReturn

import pytest
from django.utils import timezone

from config.runtime.logs import JsonFormatter
from tests.factories.webhooks import SECRET, DeliveryFactory, EndpointFactory
from tests.patience import PATIENCE
from tests.servers import certificates
from tests.servers.behaviors import stall
from tests.servers.processes import wait_until
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import claim
from webhooks import tasks
from webhooks.engine import post
from webhooks.models import Delivery, Endpoint
from webhooks.services import retry_job
from webhooks.services.selection import Selection

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def claimed(endpoint: Endpoint, settings: Any) -> tuple[str, ...]:
    """Claim a delivery, and return the arguments of the task that sends it."""
    settings.WEBHOOK_CA_BUNDLE = certificates.ca_file()
    settings.WEBHOOK_TIMEOUT = PATIENCE
    DeliveryFactory(chatbot=endpoint.chatbot)
    [one] = claim()
    return str(one.claim), *map(str, one.delivery_ids)


def test_the_second_of_two_identical_tasks_sends_nothing(
    receiver: Receiver, claimed: tuple[str, ...]
) -> None:
    tasks.deliver(*claimed)
    tasks.deliver(*claimed)
    assert len(receiver.arrivals) == 1
    assert Delivery.objects.get().state == "SUCCESS"


def test_a_slow_receiver_delays_no_other_delivery_of_its_task(
    receiver: Receiver, endpoint: Endpoint, settings: Any
) -> None:
    settings.WEBHOOK_CA_BUNDLE, settings.WEBHOOK_TIMEOUT = certificates.ca_file(), 3.0
    receiver.on("/slow", stall())
    since = timezone.now()
    slow = EndpointFactory(url=receiver.url("/slow"), last_success_at=since)
    Endpoint.objects.update(last_success_at=since)
    for one in (slow, endpoint, slow, endpoint):
        DeliveryFactory(chatbot=one.chatbot)
    [claimed] = claim()
    task = threading.Thread(
        target=tasks.deliver, args=(str(claimed.claim), *map(str, claimed.delivery_ids))
    )
    task.start()
    wait_until(lambda: Delivery.objects.filter(state="SUCCESS").count() == 2)
    assert Delivery.objects.filter(state="PENDING").exclude(claim=None).count() == 2
    task.join()
    assert Delivery.objects.filter(chatbot=slow.chatbot, state="RETRYING").count() == 2


def test_an_unexpected_error_that_quotes_the_request_puts_no_secret_into_the_log(
    claimed: tuple[str, ...],
    endpoint: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The test uses the log format of the running service."""

    def stumble(url: str, *, headers: dict[str, str], **_: object) -> NoReturn:
        raise ZeroDivisionError(f"{url}: {headers}")

    monkeypatch.setattr(post, "post", stumble)
    monkeypatch.setattr(caplog.handler, "formatter", JsonFormatter())
    tasks.deliver.apply(claimed)
    endpoint.refresh_from_db()
    assert "ZeroDivisionError" in caplog.text
    assert endpoint.url in caplog.text
    assert SECRET not in caplog.text
    assert endpoint.sealed_secret not in caplog.text


def test_a_retry_job_waits_while_sending_is_off_and_then_continues_at_its_speed(
    endpoint: Endpoint, settings: Any
) -> None:
    settings.SENDING = False
    for _ in range(5):
        DeliveryFactory(chatbot=endpoint.chatbot, state="FAILED", due_at=None)
    retry_job.start(Selection(), None, per_second=1, by="Kim")
    tasks.advance_retry_jobs()
    due = Delivery.objects.filter(due_at__isnull=False)
    assert not due.exists()
    settings.SENDING = True
    tasks.advance_retry_jobs()
    times = list(due.order_by("due_at").values_list("due_at", flat=True))
    steps = {(later - time).total_seconds() for time, later in pairwise(times)}
    assert (len(times), steps) == (3, {1.0}), "one per second, three seconds ahead"
