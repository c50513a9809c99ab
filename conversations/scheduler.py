"""A worker's scheduler: a thread that finds due work and publishes Celery tasks for it.

Rows are the truth: each kind of work has its due time, its claim and its result in the database,
and a task's arguments are an id and a claim. A lost, late or duplicated task does no harm. Each
worker has a scheduler, and an advisory lock makes sure that only one claims work at a time.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from celery import Celery, Task
from django.conf import settings
from django.db import Error, connection, transaction
from kombu.exceptions import OperationalError as BrokerError

from accounts import mail_queue
from accounts import tasks as account_tasks
from config.database.availability import discard_dead_connections
from config.database.claims import LEASE
from config.database.locks import left_if_locked
from config.models import SEEN_EVERY, PeriodicWork, Worker
from config.stop_signal import worker_is_stopping
from conversations import tasks as conversation_tasks
from conversations.services import owed_reply
from webhooks import tasks as webhook_tasks
from webhooks.engine import claims, metrics, queue, recovery
from webhooks.models.delivery import LONG_AGO
from webhooks.services import retry_job

LOCK = 0x77656268  # key of the advisory lock
# Seconds to wait after a claim that found deliveries, because it is cheaper to claim more at once
GATHER = 0.05
PAUSE = 0.03  # seconds between looks for due deliveries
# Seconds to wait after a claim that found nothing, unless a delivery arrives or an attempt ends
FULL_PAUSE = 0.05
ERROR_PAUSE = 1.0  # seconds to wait after an error of the database or the broker
RESERVED = 4  # maximum number of a worker's threads that deliveries leave free

# The type arguments are `Any` because the tasks take different arguments
PERIODIC: dict[str, "Task[Any, Any]"] = {
    webhook_tasks.PRUNE: webhook_tasks.prune,
    webhook_tasks.TELL_OWNERS: webhook_tasks.tell_owners,
    account_tasks.CLEAR_SESSIONS: account_tasks.clear_sessions,
    account_tasks.FORGET_ANSWERS: account_tasks.forget_answers,
    account_tasks.PRUNE_MAILS: account_tasks.prune_mails,
    account_tasks.PRUNE_CHANGES: account_tasks.prune_changes,
    conversation_tasks.PURGE: conversation_tasks.purge_erased,
    conversation_tasks.CHECK_LEDGER: conversation_tasks.check_ledger,
    conversation_tasks.FOLLOW_UP: conversation_tasks.follow_up_handoffs,
    conversation_tasks.COUNT: conversation_tasks.count_activity,
}

logger = logging.getLogger(__name__)


class Message(NamedTuple):
    """A task to publish. `release` gives back its claim if it cannot be published."""

    task: "Task[Any, Any]"
    args: tuple[str, ...] = ()
    release: Callable[[], object] = lambda: None
    queue: str = "celery"


@contextmanager
def acting() -> Iterator[bool]:
    """Enter a transaction in which no other scheduler claims work. Yields False if another does.

    The commit does not wait for the disk: a claim that is lost in a crash is claimed again. On
    SQLite there is only one scheduler, and a transaction would block other writers.
    """
    if connection.vendor != "postgresql":
        yield True
        return
    take = "SELECT pg_try_advisory_xact_lock(%s), set_config('synchronous_commit', 'off', true)"
    with transaction.atomic():
        [[ours, _]] = queue.rows(take, LOCK)
        yield ours


class Scheduler(threading.Thread):
    """Runs rounds. Each round claims due work and publishes its tasks."""

    def __init__(self, app: Celery, *, name: str, threads: int) -> None:
        super().__init__(name="scheduler", daemon=True)
        self.app, self.worker, self.threads = app, name, threads
        self.total = self.reserved = 0  # threads of all workers; those that deliveries leave free
        self.replying = 0  # threads that are generating owed replies
        self.stopping = threading.Event()
        self.full_until = 0.0
        self.is_full = False  # whether due deliveries wait for attempts to end
        self.full_with: UUID | None = None  # the newest delivery when a claim last found nothing
        self.swept_from = 0.0  # by then, live processes have renewed their leases after an outage
        self.chores: dict[Callable[[], list[Message]], float] = {
            self.free_expired: 1.0,
            self.find_replies: 1.0,
            self.find_mails: 1.0,
            self.find_retry_jobs: 1.0,
            self.find_periodic_work: 5.0,
        }
        self.due = dict.fromkeys(self.chores, 0.0)
        self.seen_at = float("-inf")

    def run(self) -> None:
        """Run rounds until told to stop. After an error, the next round tries again."""
        while not (self.stopping.is_set() or worker_is_stopping()):
            try:
                pause = self.round()
            except Exception as error:  # without this thread, the worker would do nothing
                known = isinstance(error, (Error, BrokerError))
                logger.warning("the scheduler failed: %s", error, exc_info=not known)
                pause = ERROR_PAUSE
                if isinstance(error, Error):
                    self.swept_from = time.monotonic() + LEASE.total_seconds()
                    connection.close()
                    discard_dead_connections(error)
            if not self.is_full:
                self.stopping.wait(pause)
            elif claims.freed.wait(pause):
                claims.freed.clear()
                self.full_with = None
        connection.close()

    def round(self) -> float:
        """Do the due chores and publish deliveries. Returns how many seconds to pause."""
        now = time.monotonic()
        if now - self.seen_at > SEEN_EVERY:
            self.see_workers()
            self.seen_at = now
        for chore, period in self.chores.items():
            if now >= self.due[chore]:
                self.due[chore] = now + period
                self.act(chore)
        if not settings.SENDING:
            return PAUSE
        due, newest = queue.glance()
        self.is_full = False
        if due is None:
            return PAUSE
        if due > LONG_AGO and (wait := (due - queue.now()).total_seconds()) > 0:
            return min(wait, PAUSE)
        if newest != self.full_with or now >= self.full_until:
            with metrics.CLAIM_SECONDS.time():
                found = self.act(self.find_deliveries)
            if found:
                return GATHER
            self.full_with, self.full_until = newest, now + FULL_PAUSE
        self.is_full = True
        return PAUSE

    def act(self, find: Callable[[], list[Message]]) -> int:
        """Find work if no other scheduler is at it, and publish it after the commit."""
        messages: list[Message] = []
        with left_if_locked(find.__name__), acting() as ours:
            messages = find() if ours else []
        if messages:
            self.publish(messages)
        return len(messages)

    def publish(self, messages: list[Message]) -> None:
        """Publish tasks. If the broker fails, release the claims, and raise BrokerError."""
        waiting = iter(messages)
        with self.app.producer_pool.acquire(block=True) as producer:
            for one in waiting:
                try:
                    one.task.apply_async(one.args, queue=one.queue, producer=producer, retry=False)
                except BrokerError:
                    for each in (one, *waiting):
                        each.release()
                    raise

    def see_workers(self) -> None:
        """Record that this worker is alive, and count the threads of all workers."""
        Worker.objects.see(self.worker, self.threads)
        threads = list(Worker.objects.alive().values_list("threads", flat=True))
        self.total = sum(threads)
        self.reserved = sum(min(RESERVED, one // 4) for one in threads)

    def free_expired(self) -> list[Message]:
        """Free deliveries whose leases have expired."""
        if time.monotonic() > self.swept_from:
            recovery.free_expired()
        return []

    def find_deliveries(self) -> list[Message]:
        """Claim due deliveries."""
        slots = self.total - self.reserved - self.replying
        return [
            Message(
                webhook_tasks.deliver,
                (str(one.claim), *map(str, one.delivery_ids)),
                partial(claims.release, one),
                "slow" if one.slow else "deliveries",
            )
            for one in claims.claim(slots)
        ]

    def find_replies(self) -> list[Message]:
        """Claim owed replies that no process is generating."""
        self.replying = owed_reply.by_workers().count()
        if time.monotonic() < self.swept_from:
            return []
        return [
            Message(
                conversation_tasks.make_reply,
                (str(message_id), str(token)),
                partial(owed_reply.release, message_id, token),
            )
            for message_id, token in owed_reply.claim(most=max(1, self.total // 2))
        ]

    def find_mails(self) -> list[Message]:
        """Claim due emails."""
        found = mail_queue.claim(max(1, self.reserved)) if settings.SENDING else []
        return [
            Message(account_tasks.send_mail, one, partial(mail_queue.release, *one))
            for one in found
        ]

    def find_retry_jobs(self) -> list[Message]:
        """Advance the running retry jobs, if there are any."""
        runs = settings.SENDING and retry_job.is_running()
        return [Message(webhook_tasks.advance_retry_jobs)] if runs else []

    def find_periodic_work(self) -> list[Message]:
        """Claim due periodic work."""
        return [
            Message(PERIODIC[name], (claim,), partial(PeriodicWork.objects.release, name, claim))
            for name, claim in PeriodicWork.objects.filter(name__in=PERIODIC).claim()
        ]

    def stop(self) -> None:
        """Stop claiming. Without Redis, release the claims whose tasks have not begun."""
        self.stopping.set()
        claims.freed.set()
        self.join(ERROR_PAUSE * 4)
        try:
            Worker.objects.filter(name=self.worker).delete()
            if not settings.REDIS_URL:  # with Redis, another worker runs the published tasks
                recovery.release_unstarted()
        except Error as error:
            logger.warning("the claims were not released and will expire: %s", error)
        connection.close()
