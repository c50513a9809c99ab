"""Test a worker's dispatcher: emails, periodic work, SENDING=off, watchdog and clock changes."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import pytest
from celery.concurrency.thread import TaskPool
from django.db import OperationalError, connection
from django.utils import timezone

from accounts import mail_queue
from accounts import tasks as account_tasks
from accounts.models import Mail
from config.database.ids import new_id
from config.models import PeriodicWork
from conversations import dispatcher
from conversations.dispatcher import PERIODIC, Dispatcher
from conversations.models import OwedReply
from conversations.services import owed_reply
from tests.factories.accounts import AccountFactory
from tests.factories.conversations import MessageFactory, ThreadFactory
from tests.factories.webhooks import DeliveryFactory, EndpointFactory
from tests.patience import PATIENCE
from tests.servers.forks import Forked
from tests.servers.mail import MailServer
from tests.servers.processes import Worker, wait_until
from tests.servers.receiver import Receiver
from tests.shortages import without_threads
from webhooks import tasks as webhook_tasks
from webhooks.engine import claims
from webhooks.engine.queue import now
from webhooks.models import Delivery, Endpoint

ROOT = Path(__file__).resolve().parents[2]
ALONE = """
import sys, time
import django
django.setup()
from conversations import dispatcher

class Alone(dispatcher.Dispatcher):
    def round(self):
        print("round", flush=True)
        if {stopping}:
            self.stopping.set()
        time.sleep({length})
        return 0.1

dispatcher.STUCK_AFTER = {patience}
dispatcher.grace = lambda: 1
one = Alone(8)
one.begin_watch()
one.start()
one.join()
"""


@pytest.fixture
def endpoint(receiver: Receiver) -> Endpoint:
    return EndpointFactory(url=receiver.url("/hook"), last_success_at=timezone.now())


class Alone(Forked):
    """A process that runs only a dispatcher. Each round sleeps for `length` seconds.

    The watchdog ends the process if no round finishes within `patience` seconds. If `stopping` is
    true, the process is told to stop during its first round, and the watchdog then waits only one
    second.
    """

    def __init__(
        self, folder: Path, *, length: float, patience: float, stopping: bool = False
    ) -> None:
        self.out, self.err = folder / "out", folder / "err"
        program = ALONE.format(length=length, patience=patience, stopping=stopping)
        environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        super().__init__("-c", program, environment=environment, out=self.out, err=self.err)

    def rounds(self) -> int:
        return self.out.read_text().count("round\n")


def all_work_is_done() -> bool:
    """Return whether all periodic work has been done and is scheduled again."""
    done = PeriodicWork.objects.filter(due_at__gt=timezone.now(), claimed_until=None)
    return done.count() == len(PERIODIC)


@pytest.mark.django_db(transaction=True)
def test_a_worker_sends_emails_and_does_periodic_work() -> None:
    bad = AccountFactory()
    for _ in range(5):  # more emails than a worker sends at once
        Mail.objects.create(account=bad, to="x@example.com", subject="\x0cBcc: y@z.a", body="B")
    Mail.objects.create(account=AccountFactory(), to="kim@example.com", subject="A", body="B")
    with MailServer() as server, Worker(EMAIL_URL=f"smtp://127.0.0.1:{server.port}") as worker:
        wait_until(lambda: Mail.objects.filter(state="SENT").exists(), told=worker.said)
        failed = Mail.objects.filter(account=bad, state="FAILED", tries=1)
        wait_until(lambda: failed.count() == 5, told=worker.said)
        wait_until(all_work_is_done, told=worker.said)
        assert len(server.mails) == 1


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_deliveries_and_emails_are_held_until_sending_is_on_again(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    Mail.objects.create(account=AccountFactory(), to="kim@example.com", subject="A", body="B")
    DeliveryFactory(chatbot=endpoint.chatbot)
    DeliveryFactory(chatbot=endpoint.chatbot, is_test=True)
    DeliveryFactory(chatbot=endpoint.chatbot, state="FAILED", due_at=now())  # a manual retry
    held = list(Delivery.objects.order_by("pk").values())
    with MailServer() as server:
        environment = {"EMAIL_URL": f"smtp://127.0.0.1:{server.port}"}
        with Worker(SENDING="off", **environment) as worker:
            wait_until(all_work_is_done, told=worker.said)
            assert "SENDING=off" in worker.said()
        assert list(Delivery.objects.order_by("pk").values()) == held
        assert not (server.mails or receiver.arrivals)
        with Worker(state_dir=worker.state_dir, **environment) as worker:
            receiver.wait_for(3)
            wait_until(lambda: server.mails, told=worker.said)


def test_the_documented_commands_mark_held_deliveries_and_emails_as_failed(db: None) -> None:
    DeliveryFactory(due_at=now())
    DeliveryFactory(state="RETRYING", due_at=now())
    Mail.objects.create(account=AccountFactory(), to="kim@example.com", subject="A", body="B")
    commands = re.findall(r'shell -c "(.*)"', (ROOT / "docs" / "deployment.md").read_text())
    for command in commands:
        exec(command)
    assert len(commands) == 2
    assert set(Delivery.objects.values_list("state", "due_at")) == {("FAILED", None)}
    assert set(Mail.objects.values_list("state", "due_at")) == {("FAILED", None)}


@pytest.mark.django_db(transaction=True)
def test_a_task_that_begins_while_sending_is_off_releases_its_claim(
    receiver: Receiver, endpoint: Endpoint, settings: Any
) -> None:
    DeliveryFactory(chatbot=endpoint.chatbot)
    Mail.objects.create(account=AccountFactory(), to="kim@example.com", subject="A", body="B")
    [claimed], [mail] = claims.claim("1", slots=8), mail_queue.claim(4)
    settings.SENDING = False
    webhook_tasks.deliver(str(claimed.claim), str(claimed.delivery_id))
    account_tasks.send_mail(*mail)
    assert Delivery.objects.filter(state="PENDING", claim=None, due_at__isnull=False).exists()
    assert Mail.objects.filter(claimed_until=None, due_at__isnull=False, tries=0).exists()
    assert not receiver.arrivals


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_stops_releases_the_claims_whose_tasks_have_not_begun() -> None:
    Mail.objects.create(account=AccountFactory(), to="kim@example.com", subject="A", body="B")
    message, ended = MessageFactory(thread=ThreadFactory()), now() - timedelta(seconds=1)
    OwedReply.objects.create(message=message, claim=new_id(), claimed_until=ended)
    PeriodicWork.objects.add(PERIODIC)
    pool, free = TaskPool(limit=1), threading.Event()
    pool.apply_async(free.wait)
    dispatcher = Dispatcher(1, pool)
    for claim in (dispatcher.make_replies, dispatcher.send_mails, dispatcher.begin_periodic_work):
        claim()
    dispatcher.stopping.set()
    dispatcher.start()
    dispatcher.stop()
    free.set()
    pool.executor.shutdown()  # runs the waiting tasks whose claims were not released
    assert len(owed_reply.claim("1", most=1)) == len(mail_queue.claim(1)) == 1
    assert len(PeriodicWork.objects.claim()) == len(PERIODIC)


class TestPeriodicWork:
    """The rows that schedule periodic work. A row can be claimed by only one process at a time."""

    pytestmark = pytest.mark.django_db

    def test_it_is_claimed_once_until_it_is_finished(self) -> None:
        PeriodicWork.objects.add(["sweep"])
        PeriodicWork.objects.add(["sweep"])
        [(name, claim)] = PeriodicWork.objects.claim()
        assert PeriodicWork.objects.claim() == []
        later = timezone.now() + timedelta(days=1)
        assert PeriodicWork.objects.finish(name, claim, next_due=later)
        assert PeriodicWork.objects.claim() == []
        PeriodicWork.objects.update(due_at=timezone.now())
        assert len(PeriodicWork.objects.claim()) == 1

    def test_unfinished_work_is_claimed_again(self) -> None:
        PeriodicWork.objects.add(["sweep"])
        [(_, lost)] = PeriodicWork.objects.claim()
        PeriodicWork.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
        [(name, claim)] = PeriodicWork.objects.claim()
        assert not PeriodicWork.objects.finish(name, lost, next_due=timezone.now())
        PeriodicWork.objects.release(name, lost)
        assert PeriodicWork.objects.claim() == [], "a lost claim changes nothing"
        PeriodicWork.objects.release(name, claim)
        assert len(PeriodicWork.objects.claim()) == 1

    def test_it_is_claimed_again_after_the_clock_was_set_back(self) -> None:
        PeriodicWork.objects.add(["sweep"])
        long_after = timezone.now() + timedelta(days=365)
        PeriodicWork.objects.update(due_at=long_after)
        assert len(PeriodicWork.objects.claim()) == 1
        PeriodicWork.objects.update(due_at=timezone.now(), claimed_until=long_after)
        assert len(PeriodicWork.objects.claim()) == 1


@pytest.mark.slow
def test_a_hanging_dispatcher_ends_its_process(tmp_path: Path) -> None:
    process = Alone(tmp_path, length=600, patience=2)
    assert process.wait(PATIENCE) == os.EX_SOFTWARE
    assert "no round has finished" in process.err.read_text()


def test_a_worker_that_does_not_stop_in_time_ends_its_process(tmp_path: Path) -> None:
    process = Alone(tmp_path, length=600, patience=600, stopping=True)
    assert process.wait(PATIENCE) == os.EX_SOFTWARE
    assert "no round has finished" in process.err.read_text()


def test_a_hanging_dispatcher_ends_its_process_even_if_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def die(reason: str) -> NoReturn:
        raise SystemExit(reason)

    for name, value in (("STUCK_AFTER", 2), ("die", die)):
        monkeypatch.setattr(dispatcher, name, value)
    with without_threads(), pytest.raises(SystemExit, match="no round has finished"):
        Dispatcher(8).watch()


@pytest.mark.slow
def test_a_process_that_was_suspended_as_a_whole_does_not_count_as_hanging(tmp_path: Path) -> None:
    process = Alone(tmp_path, length=0.1, patience=4)
    wait_until(process.rounds, told=process.err.read_text)
    process.send_signal(signal.SIGSTOP)
    halted, before = time.monotonic(), process.rounds()
    wait_until(lambda: time.monotonic() - halted > 5)
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: process.rounds() >= before + 10, told=process.err.read_text)
    assert process.poll() is None
    process.kill()


@pytest.mark.parametrize(
    ("concurrency", "slots"), [(1, 1), (2, 2), (4, 3), (8, 6), (32, 28), (64, 60)]
)
def test_up_to_four_threads_are_reserved_for_emails_and_periodic_work(
    concurrency: int, slots: int
) -> None:
    assert Dispatcher(concurrency).slots == slots


@pytest.fixture
def waiting() -> Delivery:
    """A delivery that was last updated ten minutes ago and is due in five minutes."""
    due = timezone.now() + timedelta(minutes=5)
    row = DeliveryFactory(chatbot=EndpointFactory().chatbot, state="RETRYING", due_at=due)
    Delivery.objects.update(updated_at=timezone.now() - timedelta(minutes=10))
    return row


def step(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Move the dispatcher's clock forward by `seconds`, or backward if `seconds` is negative."""
    before = time.time
    monkeypatch.setattr(time, "time", lambda: before() + seconds)


def moved(waiting: Delivery) -> float:
    return (Delivery.objects.get(pk=waiting.pk).due_at - waiting.due_at).total_seconds()


@pytest.mark.django_db
@pytest.mark.parametrize("seconds", [3600, -3600, 10, -10, -20, 0.5, -0.5])
def test_due_times_follow_this_machines_clock_only_on_the_embedded_default(
    settings: Any, monkeypatch: pytest.MonkeyPatch, waiting: Delivery, seconds: float
) -> None:
    dispatcher = Dispatcher(8)
    step(monkeypatch, seconds)
    for _ in range(2):
        dispatcher.follow_clock()
    assert moved(waiting) == pytest.approx(seconds if settings.EMBEDDED else 0, abs=0.1)


@pytest.mark.django_db
@pytest.mark.parametrize(("seconds", "shift"), [(-3600, -3600), (3600, 0)])
def test_emails_and_periodic_work_are_not_late_after_a_clock_change(
    settings: Any, monkeypatch: pytest.MonkeyPatch, seconds: float, shift: float
) -> None:
    """Any clock change shifts leases, but due times are shifted only if the clock is set back."""
    times = dict.fromkeys(("due_at", "claimed_until"), timezone.now() + timedelta(minutes=5))
    address = {"account": AccountFactory(), "to": "kim@example.com"}
    Mail.objects.bulk_create([Mail(**address, **times), Mail(**address, due_at=times["due_at"])])
    PeriodicWork.objects.create(name="sweep", **times)
    settings.EMBEDDED = True
    dispatcher = Dispatcher(8)
    step(monkeypatch, seconds)
    for _ in range(2):
        dispatcher.follow_clock()
    for row in (*Mail.objects.all(), PeriodicWork.objects.get()):
        moved = (row.due_at - times["due_at"]).total_seconds()
        assert moved == pytest.approx(shift, abs=0.1)
        if row.claimed_until:
            moved = (row.claimed_until - times["claimed_until"]).total_seconds()
            assert moved == pytest.approx(seconds, abs=0.1)


@pytest.mark.django_db
@pytest.mark.parametrize("statement", ["UPDATE", 'UPDATE "config_periodicwork"'])
def test_due_times_follow_the_clock_later_if_the_database_fails(
    settings: Any, monkeypatch: pytest.MonkeyPatch, waiting: Delivery, statement: str
) -> None:
    def fail(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if sql.startswith(statement):
            raise OperationalError("disk I/O error")
        return execute(sql, *rest)

    settings.EMBEDDED = True
    dispatcher = Dispatcher(8)
    step(monkeypatch, 3600)
    with connection.execute_wrapper(fail), pytest.raises(OperationalError):
        dispatcher.follow_clock()
    assert moved(waiting) == 0
    dispatcher.follow_clock()
    assert moved(waiting) == pytest.approx(3600, abs=0.1)
