"""Erased content is no longer sent or stored, but its deliveries stay in the log."""

from typing import Any

import pytest

from tests.factories.webhooks import DeliveryFactory
from tests.servers.behaviors import Behavior
from tests.servers.receiver import Receiver
from tests.webhooks.engine.steps import BROKEN, OK, begin, make_due, run, states, stored
from webhooks.engine import attempt, schedule
from webhooks.models import Delivery
from webhooks.models.reason import Refusal
from webhooks.services import erasure
from webhooks.services.retry import retry, retry_slowly

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("trusting"),
    pytest.mark.proves("Delivery rules"),
]
KEPT = ("event", "state", "attempts_count", "last_code", "created_at", "thread_id", "chatbot_id")


def erase(delivery: Delivery) -> int:
    return sum(erasure.erase(Delivery.objects.filter(pk=delivery.pk)))


def contents(delivery: Delivery) -> list[Any]:
    """Return the stored content of a delivery: its body, and its responses' bodies and headers."""
    attempts = delivery.attempts.values_list("response_body", "response_headers")
    found = [bytes(stored(delivery)["body"]), *(bytes(body) for body, _ in attempts)]
    return [one for one in found if one] + [headers for _, headers in attempts if headers]


def test_the_row_stays_and_its_content_is_deleted(receiver: Receiver, delivery: Delivery) -> None:
    receiver.on("/hook", BROKEN)
    run()
    before = stored(delivery)
    assert len(contents(delivery)) == 3
    assert erase(delivery) == 1
    assert contents(delivery) == []
    assert [stored(delivery)[name] for name in KEPT] == [before[name] for name in KEPT]
    assert states(delivery) == [(1, "RETRYING")]
    assert erase(delivery) == 0


@pytest.mark.parametrize("state", ["PENDING", "RETRYING", "FAILED"])
def test_a_waiting_delivery_ends_as_failed_with_the_reason(
    receiver: Receiver, delivery: Delivery, state: str
) -> None:
    receiver.on("/hook", OK)
    Delivery.objects.filter(pk=delivery.pk).update(state=state)
    erase(delivery)
    make_due(delivery)
    assert run() == 1
    assert run() == 0
    row = stored(delivery)
    assert (row["state"], row["due_at"]) == ("FAILED", None)
    assert row["last_reason"] == Refusal.CONTENT_ERASED
    assert receiver.arrivals == []


@pytest.mark.parametrize(("answer", "state"), [(OK, "SUCCESS"), (BROKEN, "FAILED")])
def test_an_attempt_in_progress_stores_nothing_of_the_response(
    receiver: Receiver, delivery: Delivery, answer: Behavior, state: str
) -> None:
    receiver.on("/hook", answer)
    [work] = begin()
    result = attempt.send(work)
    erase(delivery)
    assert schedule.settle(work, result)
    assert contents(delivery) == []
    row = stored(delivery)
    assert (row["state"], row["due_at"]) == (state, None)
    assert states(delivery) == [(1, state)]


def test_an_erased_delivery_is_not_retried(delivery: Delivery) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(state="FAILED", due_at=None)
    other = DeliveryFactory(chatbot=delivery.chatbot, state="FAILED", due_at=None)
    erase(delivery)
    assert sum(retry_slowly(Delivery.objects.all(), by="Kim")) == 1
    assert retry(Delivery.objects.all(), by="Kim") == 0
    assert list(Delivery.objects.filter(due_at__isnull=False)) == [other]
