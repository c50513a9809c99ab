"""Retry jobs run at the requested speed, can be stopped, and retry each delivery exactly once."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from chatbots.models import Chatbot
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from webhooks.models import Delivery, RetryJob
from webhooks.models.retry_job import JobState
from webhooks.services import retry_job
from webhooks.services.retry import retry
from webhooks.services.retry_job import advance, resume, start, stop
from webhooks.services.selection import Selection

pytestmark = [pytest.mark.django_db, pytest.mark.proves("Delivery rules/3")]
EVERYTHING = Selection()


@pytest.fixture
def bot() -> Chatbot:
    return EndpointFactory().chatbot


def failed(chatbot: Chatbot, count: int = 1, **fields: Any) -> list[Delivery]:
    made = {"state": "FAILED", "due_at": None, "attempts_count": 4, "last_code": 503}
    return [DeliveryFactory(chatbot=chatbot, **made | fields) for _ in range(count)]


def requested() -> list[Delivery]:
    return list(Delivery.objects.filter(due_at__isnull=False).order_by("created_at", "id"))


def job(**options: Any) -> RetryJob:
    return start(EVERYTHING, None, **{"per_second": 10, "by": "Kim"} | options)


class Clock:
    """A fake clock for retry jobs: its time changes only when a test advances it."""

    def __init__(self) -> None:
        self.time = retry_job.queue.now()

    def __call__(self) -> datetime:
        return self.time

    def go_on(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock(bot: Chatbot, monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("webhooks.services.retry_job.queue.now", clock)
    return clock


def test_a_job_requests_attempts_at_its_pace_in_the_order_of_events(
    bot: Chatbot, clock: Clock
) -> None:
    rows = failed(bot, 50)
    clock.go_on(60)
    began = job()
    advance()
    due = requested()
    assert [row.pk for row in due] == [row.pk for row in rows[:30]], "three seconds ahead"
    assert due[-1].due_at - due[0].due_at == timedelta(seconds=2.9)
    assert {row.retried_by for row in due} == {"Kim"}
    advance()
    assert len(requested()) == 30
    clock.go_on(1)
    advance()
    assert len(requested()) == 40
    clock.go_on(1)
    advance()
    assert len(requested()) == 50
    began.refresh_from_db()
    assert (began.expected, sum(part.retried for part in began.parts.all())) == (50, 50)


def test_a_delivery_that_was_retried_meanwhile_is_not_retried_again(bot: Chatbot) -> None:
    row = failed(bot)[0]
    job()
    retry(Delivery.objects.filter(pk=row.pk), by="Sam")
    Delivery.objects.filter(pk=row.pk).update(due_at=None)  # as if the retry had failed
    advance()
    assert not requested()


def test_a_stopped_job_requests_nothing_until_it_is_resumed(bot: Chatbot, clock: Clock) -> None:
    failed(bot, 60)
    clock.go_on(60)
    began = job()
    advance()
    assert stop(began, by="Sam")
    assert not stop(began, by="Sam")
    clock.go_on(5)
    advance()
    assert len(requested()) == 30
    began.refresh_from_db()
    assert (began.state, began.stopped_by) == (JobState.STOPPED, "Sam")
    resume(began)
    advance()
    assert len(requested()) == 60
