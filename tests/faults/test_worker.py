"""If workers are killed, halted or stopped, no delivery is lost or returns to an earlier state."""

import signal
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from config.models import PeriodicWork
from tests.factories.webhooks import DeliveryFactory
from tests.servers.behaviors import answer
from tests.servers.processes import Worker, wait_until
from tests.servers.receiver import Receiver
from webhooks.models import Attempt, Delivery, Endpoint

pytestmark = pytest.mark.proves("Delivery rules")
OK, SLOW, BROKEN = answer(), answer(delay=1.0), answer(503)
LATE = 10.0  # maximum delay of an attempt, in seconds; allows for a busy machine


def have_ended(count: int, state: str = "SUCCESS") -> Callable[[], bool]:
    return lambda: Delivery.objects.filter(state=state, due_at=None, claim=None).count() == count


def has_begun() -> bool:
    return Attempt.objects.filter(status="PENDING").exists()


@pytest.mark.proves("Delivery rules/2", "Delivery rules/4")
def test_the_four_attempts_arrive_on_time_with_the_same_bytes(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    receiver.on("/hook", BROKEN)
    with Worker() as worker:
        delivery = DeliveryFactory(chatbot=endpoint.chatbot)
        wait_until(have_ended(1, "FAILED"), told=worker.said)
    assert len({arrival.body for arrival in receiver.arrivals}) == 1
    attempts = list(delivery.attempts.all())
    assert [each.status for each in attempts] == ["RETRYING", "RETRYING", "RETRYING", "FAILED"]
    for before, after, delay in zip(attempts, attempts[1:], (0.2, 0.4, 0.6), strict=False):
        late = (after.started_at - before.finished_at).total_seconds() - delay
        assert 0 <= late < LATE


@pytest.mark.parametrize(
    ("point", "arrivals"),
    [
        ("after-claim", 1),
        ("attempt-begun", 1),
        ("after-answer", 2),
        ("before-settle-commit", 2),
        ("after-settle", 1),
    ],
)
def test_a_worker_killed_at_any_point_loses_nothing(
    receiver: Receiver, endpoint: Endpoint, settings: Any, point: str, arrivals: int
) -> None:
    """The next worker immediately resumes an unfinished delivery, and ignores a finished one."""
    settings.WEBHOOK_TIMEOUT = 600.0  # no lease expires during the test
    delivery = DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker(crash_point=point) as doomed:
        assert doomed.wait() == -signal.SIGKILL, doomed.said()
    PeriodicWork.objects.all().delete()  # the next worker creates these rows when it starts
    with Worker(state_dir=doomed.state_dir) as worker:
        wait_until(PeriodicWork.objects.exists, told=worker.said)
        receiver.wait_for(arrivals, LATE)
        wait_until(have_ended(1), told=worker.said)
        DeliveryFactory(chatbot=endpoint.chatbot, body=b"{}")
        wait_until(have_ended(2), told=worker.said)
    bodies = [arrival.body for arrival in receiver.arrivals]
    assert bodies == [bytes(delivery.body)] * arrivals + [b"{}"]
    interrupted = point in ("attempt-begun", "after-answer", "before-settle-commit")
    assert delivery.attempts.filter(interrupted=True).count() == interrupted
    assert set(delivery.attempts.values_list("number", flat=True)) == {1}


@pytest.mark.slow
def test_a_delivery_that_kills_every_worker_is_given_up(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """A later delivery to the same endpoint still arrives."""
    DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker(crash_point="after-answer") as first:
        first.wait()
    for _ in range(2):
        with Worker(crash_point="after-answer", state_dir=first.state_dir) as doomed:
            assert doomed.wait() == -signal.SIGKILL
    with Worker(state_dir=first.state_dir) as worker:
        wait_until(have_ended(1, "FAILED"), told=worker.said)
        DeliveryFactory(chatbot=endpoint.chatbot)
        wait_until(have_ended(1), told=worker.said)
    assert Delivery.objects.get(state="FAILED").last_error == "interrupted three times"


def test_a_halted_worker_that_resumes_does_not_change_what_was_taken_over(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    if settings.EMBEDDED:
        pytest.skip("the embedded default has one worker")
    receiver.on("/hook", answer(delay=5.0), OK)
    DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker() as zombie:
        receiver.wait_for(1)
        zombie.signal(signal.SIGSTOP)
        # Make the 30-second lease expire now.
        Delivery.objects.update(claimed_until=Delivery.objects.get().created_at)
        with Worker() as worker:
            wait_until(have_ended(1), told=worker.said)
            before = Delivery.objects.values().get()
            zombie.signal(signal.SIGCONT)
            wait_until(lambda: "settled too late" in zombie.said(), told=zombie.said)
    assert Delivery.objects.values().get() == before
    assert [each.interrupted for each in Attempt.objects.all()] == [True, False]


@pytest.mark.slow
def test_a_worker_that_is_asked_to_stop_finishes_its_running_attempts(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    receiver.on("/hook", SLOW)
    DeliveryFactory.create_batch(12, chatbot=endpoint.chatbot)
    with Worker(slots=4) as worker:
        wait_until(has_begun, told=worker.said)
        receiver.wait_for(1)
        assert worker.stop() == 0, worker.said()
    done = Delivery.objects.filter(state="SUCCESS").count()
    assert done == len(receiver.arrivals) > 0
    assert not Delivery.objects.exclude(claim=None).exists()
    assert not Attempt.objects.filter(interrupted=True).exists()


def test_a_second_worker_on_one_machine_is_rejected(receiver: Receiver, endpoint: Endpoint) -> None:
    if not settings.MACHINE_BOUND:
        pytest.skip("this installation allows several workers")
    with Worker() as worker:
        DeliveryFactory(chatbot=endpoint.chatbot)
        wait_until(have_ended(1), told=worker.said)
        with Worker(state_dir=worker.state_dir) as second:
            assert second.wait() == 1
            assert "another worker is already using" in second.said()
        DeliveryFactory(chatbot=endpoint.chatbot)
        wait_until(have_ended(2), told=worker.said)
