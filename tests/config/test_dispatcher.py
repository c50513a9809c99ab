"""The dispatcher: what it does beside deliveries, and when it ends its process."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from accounts.models import Mail
from config.dispatcher import PERIODIC, Dispatcher
from config.models import PeriodicWork
from tests.factories.accounts import AccountFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.servers.mail import MailServer
from tests.servers.processes import Worker, wait_until
from webhooks.models import Delivery

ROOT = Path(__file__).resolve().parents[2]
ALONE = """
import sys, time
import django
django.setup()
from config import dispatcher

class Alone(dispatcher.Dispatcher):
    def round(self):
        print("round", flush=True)
        time.sleep({length})
        return 0.1

dispatcher.STUCK_AFTER = 2
one = Alone(8)
one.start()
one.join()
"""


def alone(*, length):
    """Start a dispatcher whose rounds take so long, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", ALONE.format(length=length)],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.django_db(transaction=True)
def test_a_worker_sends_mails_and_does_periodic_work():
    Mail.objects.create(account=AccountFactory(), to="kim@example.com", subject="A", body="B")
    with MailServer() as server, Worker(EMAIL_URL=f"smtp://127.0.0.1:{server.port}") as worker:
        wait_until(lambda: Mail.objects.filter(state="SENT").exists(), told=worker.said)
        later = timezone.now() + timedelta(minutes=30)
        done = PeriodicWork.objects.filter(due_at__gt=later, claimed_until=None)
        wait_until(lambda: done.count() == len(PERIODIC), told=worker.said)
        assert len(server.mails) == 1


class TestPeriodicWork:
    """Rows that say what has to be done again, and when."""

    pytestmark = pytest.mark.django_db

    def test_it_is_claimed_once_until_it_is_finished(self):
        PeriodicWork.objects.add(["sweep"])
        PeriodicWork.objects.add(["sweep"])
        assert PeriodicWork.objects.claim() == ["sweep"]
        assert PeriodicWork.objects.claim() == []
        PeriodicWork.objects.finish("sweep", next_due=timezone.now() + timedelta(days=1))
        assert PeriodicWork.objects.claim() == []
        PeriodicWork.objects.update(due_at=timezone.now())
        assert PeriodicWork.objects.claim() == ["sweep"]

    def test_what_was_begun_and_never_finished_is_begun_again(self):
        PeriodicWork.objects.add(["sweep"])
        PeriodicWork.objects.claim()
        PeriodicWork.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
        assert PeriodicWork.objects.claim() == ["sweep"]
        PeriodicWork.objects.release("sweep")
        assert PeriodicWork.objects.claim() == ["sweep"]


def test_a_dispatcher_that_hangs_ends_its_process():
    process = alone(length=60)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == os.EX_SOFTWARE
    assert "has not moved" in errors


def test_a_process_that_was_halted_as_a_whole_has_not_hung():
    with alone(length=0.1) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        halted = time.monotonic()
        wait_until(lambda: time.monotonic() - halted > 3)
        process.send_signal(signal.SIGCONT)
        for _ in range(10):
            assert process.stdout.readline() == "round\n"
        process.kill()


@pytest.mark.parametrize(
    ("concurrency", "slots"), [(1, 1), (2, 2), (4, 3), (8, 6), (32, 28), (64, 60)]
)
def test_some_threads_are_left_to_mails(concurrency, slots):
    assert Dispatcher(concurrency).slots == slots


@pytest.mark.django_db
@pytest.mark.parametrize("hours", [1, -1])
def test_due_times_follow_this_machines_clock_where_they_are_made_by_it(
    settings, monkeypatch, hours
):
    jump = timedelta(hours=hours)
    due = timezone.now() - jump + timedelta(seconds=3)  # as the clock was before
    waiting = DeliveryFactory(chatbot=EndpointFactory().chatbot, state="RETRYING", due_at=due)
    dispatcher, before = Dispatcher(8), time.time
    monkeypatch.setattr(time, "time", lambda: before() + jump.total_seconds())
    for _ in range(2):
        dispatcher.follow_clock()
    moved = Delivery.objects.get(pk=waiting.pk).due_at - due
    assert abs(moved - (jump if settings.EMBEDDED else timedelta(0))) < timedelta(milliseconds=10)
