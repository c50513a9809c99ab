"""Celery tasks make delivery attempts and advance retry jobs."""

from itertools import pairwise
from typing import Any, NoReturn

import pytest

from config.runtime.logs import JsonFormatter
from tests.factories.webhooks import SECRET, DeliveryFactory
from tests.patience import PATIENCE
from tests.servers import certificates
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import claim
from webhooks import tasks
from webhooks.engine import post
from webhooks.models import Delivery, Endpoint
from webhooks.services import retry_job
from webhooks.services.selection import Selection

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def claimed(endpoint: Endpoint, settings: Any) -> tuple[str, str]:
    """Claim a delivery, and return the arguments of the task that sends it."""
    settings.WEBHOOK_CA_BUNDLE = certificates.ca_file()
    settings.WEBHOOK_TIMEOUT = PATIENCE
    DeliveryFactory(chatbot=endpoint.chatbot)
    [one] = claim()
    return str(one.claim), str(one.delivery_id)


def test_the_second_of_two_identical_tasks_sends_nothing(
    receiver: Receiver, claimed: tuple[str, str]
) -> None:
    tasks.deliver(*claimed)
    tasks.deliver(*claimed)
    assert len(receiver.arrivals) == 1
    assert Delivery.objects.get().state == "SUCCESS"


def test_an_unexpected_error_that_quotes_the_request_puts_no_secret_into_the_log(
    claimed: tuple[str, str],
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
