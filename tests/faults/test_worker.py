"""If workers are killed, halted or stopped, no delivery is lost or returns to an earlier state.

Most tests let the leases of a killed worker expire at once, which saves time.
"""

import signal
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings

from accounts.models import Mail
from config.database.claims import LEASE
from config.models import PeriodicWork
from conversations.scheduler import PERIODIC
from tests.factories.accounts import AccountFactory
from tests.factories.webhooks import DeliveryFactory
from tests.servers.behaviors import answer, stall
from tests.servers.mail import MailServer
from tests.servers.processes import Worker, wait_until
from tests.servers.receiver import Receiver
from webhooks.engine.queue import now
from webhooks.models import Attempt, Delivery, Endpoint

pytestmark = pytest.mark.proves("Delivery rules")
OK, SLOW, BROKEN = answer(), answer(delay=1.0), answer(503)
LATE = 10.0  # maximum delay of an attempt, in seconds; allows for a busy machine


def have_ended(count: int, state: str = "SUCCESS") -> Callable[[], bool]:
    return lambda: Delivery.objects.filter(state=state, due_at=None, claim=None).count() == count


def expire() -> None:
    """Let all leases expire."""
    past = now() - timedelta(seconds=1)
    for model in (Delivery, Mail, PeriodicWork):
        model.objects.exclude(claim=None).update(claimed_until=past)


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
    receiver: Receiver, endpoint: Endpoint, point: str, arrivals: int
) -> None:
    """The next worker resumes an unfinished delivery, and ignores a finished one."""
    delivery = DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker(crash_point=point) as doomed:
        assert doomed.wait() == -signal.SIGKILL, doomed.said()
    expire()
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
def test_a_worker_killed_between_two_attempts_does_not_hasten_the_next_one(
    receiver: Receiver, endpoint: Endpoint, settings: Any
) -> None:
    settings.WEBHOOK_RETRY_DELAYS = (8.0, 0.4, 0.6)  # 8 s is enough for a worker to start
    receiver.on("/hook", BROKEN, OK)
    delivery = DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker(crash_point="after-settle") as doomed:
        assert doomed.wait() == -signal.SIGKILL, doomed.said()
    assert Delivery.objects.get().state == "RETRYING"
    with Worker(state_dir=doomed.state_dir) as worker:
        wait_until(have_ended(1), told=worker.said)
    first, second = delivery.attempts.all()
    assert [(each.number, each.status) for each in (first, second)] == [
        (1, "RETRYING"),
        (2, "SUCCESS"),
    ]
    assert (second.started_at - first.finished_at).total_seconds() >= 8.0
    assert not delivery.attempts.filter(interrupted=True).exists()
    assert [each.body for each in receiver.arrivals] == [bytes(delivery.body)] * 2


@pytest.mark.slow
def test_the_work_of_a_killed_worker_is_taken_over_when_its_leases_expire(
    receiver: Receiver, endpoint: Endpoint, settings: Any
) -> None:
    """The interrupted attempt is repeated at once, under its number."""
    settings.WEBHOOK_TIMEOUT = 600.0
    receiver.on("/hook", stall(), OK)
    delivery = DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker() as doomed:
        receiver.wait_for(1)
        doomed.kill()
        died = now()
    with Worker(state_dir=doomed.state_dir) as worker:
        wait_until(have_ended(1), told=worker.said)
    first, again = delivery.attempts.all()
    assert (first.number, first.interrupted, first.status) == (1, True, "RETRYING")
    assert (again.number, again.interrupted, again.status) == (1, False, "SUCCESS")
    assert (again.started_at - died).total_seconds() < LEASE.total_seconds() + LATE
    assert [each.body for each in receiver.arrivals] == [bytes(delivery.body)] * 2


def test_a_long_attempt_keeps_its_lease(
    receiver: Receiver, endpoint: Endpoint, settings: Any
) -> None:
    settings.WEBHOOK_TIMEOUT = 60.0
    receiver.on("/hook", answer(delay=LEASE.total_seconds() + 3))
    DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker() as worker:
        wait_until(have_ended(1), told=worker.said)
    assert len(receiver.arrivals) == Attempt.objects.count() == 1


@pytest.mark.parametrize("point", ["work-begun", "mail-begun"])
@pytest.mark.django_db(transaction=True)
def test_the_other_work_of_a_killed_worker_is_done_by_the_next(point: str) -> None:
    Mail.objects.create(account=AccountFactory(), to="kim@example.com", subject="A", body="B")
    with Worker(crash_point=point, SENDING="on" if point == "mail-begun" else "off") as doomed:
        assert doomed.wait() == -signal.SIGKILL, doomed.said()
    expire()
    with (
        MailServer() as server,
        Worker(state_dir=doomed.state_dir, EMAIL_URL=f"smtp://127.0.0.1:{server.port}") as worker,
    ):
        wait_until(Mail.objects.filter(state="SENT").exists, told=worker.said)
        idle = PeriodicWork.objects.filter(due_at__gt=now(), claim=None)
        wait_until(lambda: idle.count() == len(PERIODIC), told=worker.said)
    assert len(server.mails) == 1


@pytest.mark.slow
def test_a_delivery_that_kills_every_worker_is_given_up(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """A later delivery to the same endpoint still arrives."""
    DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker(crash_point="after-answer") as first:
        first.wait()
    for _ in range(2):
        expire()
        with Worker(crash_point="after-answer", state_dir=first.state_dir) as doomed:
            assert doomed.wait() == -signal.SIGKILL
    expire()
    with Worker(state_dir=first.state_dir) as worker:
        wait_until(have_ended(1, "FAILED"), told=worker.said)
        DeliveryFactory(chatbot=endpoint.chatbot)
        wait_until(have_ended(1), told=worker.said)
    assert Delivery.objects.get(state="FAILED").last_error == "interrupted three times"


@pytest.mark.skipif(settings.EMBEDDED, reason="the embedded default has one worker")
def test_a_halted_worker_that_resumes_does_not_change_what_was_taken_over(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    receiver.on("/hook", answer(delay=5.0), OK)
    DeliveryFactory(chatbot=endpoint.chatbot)
    with Worker() as zombie:
        receiver.wait_for(1)
        zombie.signal(signal.SIGSTOP)
        expire()
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
