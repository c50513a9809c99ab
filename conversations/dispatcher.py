"""The dispatcher thread of every worker: it claims due work and runs it on the worker's threads.

The database owns the schedule. A worker runs the Celery tasks of what it has claimed on its own
pool, so no work waits for the broker, and no other worker's threads are used up.
"""

import gc
import logging
import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import django.db
import psycopg
from celery import Task
from celery.bootsteps import StartStopStep
from django.conf import settings
from django.db import connection

from accounts import mailing
from accounts import tasks as account_tasks
from config.database.connections import release_connection
from config.models import PeriodicWork
from config.outbound.failures import is_shortage
from config.runtime import broker
from config.runtime.processes import raise_file_limit
from conversations import tasks as conversation_tasks
from conversations.services import owed_reply
from webhooks import tasks as webhook_tasks
from webhooks.engine import claims, liveness, queue, recovery

# Seconds to let due deliveries accumulate before a claim: claiming many costs little more than
# claiming one. The pause grows with the size of the last claim, up to the second figure.
GATHER, GATHER_MOST = 0.004, 0.02
BUSY_PAUSE, IDLE_PAUSE, BUSY_FOR = 0.01, 0.08, 10.0
FULL_PAUSE = 0.05  # due deliveries may not start yet; one that ends or is new cuts the pause short
ERROR_PAUSE = 0.5
RESERVED = 4  # at most so many threads are kept for mails and periodic work
RENEWED_AFTER = 4.0  # seconds after an outage until live processes have renewed their leases
STUCK_AFTER = 30  # seconds; longer than any wait for a database
CLOCK_WAS_SET = 0.1  # seconds of difference between the wall clock and the monotonic clock

# Any: a task may take any arguments
PERIODIC: dict[str, "Task[Any, Any]"] = {
    webhook_tasks.PRUNE: webhook_tasks.prune,
    webhook_tasks.TELL_OWNERS: webhook_tasks.tell_owners,
    account_tasks.CLEAR_SESSIONS: account_tasks.clear_sessions,
    account_tasks.FORGET_ANSWERS: account_tasks.forget_answers,
    account_tasks.PRUNE_MAILS: account_tasks.prune_mails,
    conversation_tasks.PURGE: conversation_tasks.purge_erased,
}

logger = logging.getLogger(__name__)


class Dispatcher(threading.Thread):
    """Claims due work and runs it, in rounds.

    `pool` is Celery's, or any object with its `apply_async(target, args)`.
    """

    def __init__(self, concurrency: int, pool: Any = None) -> None:  # Any: Celery's own
        super().__init__(name="dispatcher", daemon=True)
        self.pool = pool
        self.concurrency = concurrency
        self.reserved = min(RESERVED, concurrency // 4)
        self.slots = concurrency - self.reserved
        self.replies = max(1, concurrency // 2)
        self.lives = liveness.lives()
        self.stopping = threading.Event()
        self.rounds = self.found = 0
        self.busy_until = self.full_until = 0.0
        self.full_with: UUID | None = None  # the newest delivery when no other could start
        self.outage_at = 0.0
        self.looked, self.clock = time.monotonic(), _wall_ahead()
        self.chores: list[tuple[float, Callable[[], None]]] = [
            (0.5, self.take_over),
            (0.5, self.make_replies),
            (0.5, self.send_mails),
            (5.0, self.begin_periodic_work),
        ]
        self.chores_due = [0.0] * len(self.chores)

    def hold(self) -> None:
        """Hold the locks that show this worker is alive. Raises AnotherWorker."""
        for life in self.lives:
            life.hold()

    def run(self) -> None:
        """Run rounds until told to stop. Any error except a database error ends the process."""
        threading.Thread(target=self.watch, name="watchdog", daemon=True).start()
        while not self.must_stop():
            try:
                pause = self.round()
            except (django.db.Error, psycopg.Error) as error:
                logger.warning("dispatcher: the database does not answer: %s", error)
                connection.close()
                self.outage_at = time.monotonic()
                pause = ERROR_PAUSE
            self.rounds += 1
            self.stopping.wait(min(GATHER_MOST, GATHER * max(1, self.found)))
            if claims.freed.wait(pause):
                claims.freed.clear()
                self.full_with = None
        connection.close()

    def must_stop(self) -> bool:
        """Return whether the worker is stopping, told by its own call or by a signal."""
        if self.stopping.is_set():
            return True
        if not webhook_tasks.worker_is_stopping():
            return False
        broker.wake.set()
        return True

    def round(self) -> float:
        """Run the due chores and start deliveries. Returns the seconds until the next round."""
        self.follow_clock()
        now = time.monotonic()
        for number, (period, chore) in enumerate(self.chores):
            if now >= self.chores_due[number]:
                self.chores_due[number] = now + period
                chore()
        return self.start_deliveries() if settings.SENDING else IDLE_PAUSE

    def start_deliveries(self) -> float:
        """Claim due deliveries and run them. Returns the seconds until the next round."""
        self.found = 0
        due, newest = queue.glance()
        pause = BUSY_PAUSE if time.monotonic() < self.busy_until else IDLE_PAUSE
        if due is None:
            return pause
        if due > queue.LONG_AGO and (wait := (due - queue.now()).total_seconds()) > 0:
            return min(wait, pause)
        if newest == self.full_with and time.monotonic() < self.full_until:
            return pause
        claimed = claims.claim(liveness.ME, slots=self.slots - len(owed_reply.renewal.claims))
        self.found = len(claimed)
        if not claimed:
            self.full_with, self.full_until = newest, time.monotonic() + FULL_PAUSE
            return pause
        self.busy_until = time.monotonic() + BUSY_FOR
        for one in claimed:
            self.start_task(webhook_tasks.deliver, str(one.claim), str(one.delivery_id))
        return 0.0

    def take_over(self) -> None:
        """Keep this worker's locks, and take over the claims of dead workers."""
        self.hold()
        if claimers := recovery.claimers():
            recovery.take_over(self.lives[-1].dead(claimers))

    def make_replies(self) -> None:
        """Claim and make owed replies that no live process is making."""
        if time.monotonic() - self.outage_at < RENEWED_AFTER:
            return
        for message_id, token in owed_reply.claim(liveness.ME, most=self.replies):
            self.start_task(conversation_tasks.make_reply, str(message_id), str(token))

    def send_mails(self) -> None:
        """Claim and send due mails."""
        if not settings.SENDING:
            return
        for mail_id, claim in mailing.claim(max(1, self.reserved)):
            self.start_task(account_tasks.send_mail, mail_id, claim)

    def begin_periodic_work(self) -> None:
        """Claim and begin due periodic work."""
        for name in PeriodicWork.objects.claim():
            if name in PERIODIC:
                self.start_task(PERIODIC[name])
            else:
                PeriodicWork.objects.release(name)

    def start_task(self, task: "Task[Any, Any]", *args: str) -> None:
        """Run a task on a thread of the pool; it waits if all threads are busy."""
        try:
            self.pool.apply_async(carry_out, (task, *args))
        except RuntimeError as error:  # it stays queued until a thread is free
            if not is_shortage(error):
                raise
            logger.warning("no thread could be started: %s", error, extra={"bounded": True})

    def follow_clock(self) -> None:
        """Shift due times when this machine's clock was set (embedded mode only).

        With PostgreSQL, due times do not come from this machine's clock.
        """
        looked, clock = time.monotonic(), _wall_ahead()
        jump = clock - self.clock
        if settings.EMBEDDED and abs(jump) > CLOCK_WAS_SET:
            logger.warning("the clock was set by %.1f s; due times follow", jump)
            recovery.follow_clock(timedelta(seconds=jump), since=self.looked)
        self.looked, self.clock = looked, clock  # only after the due times were shifted

    def watch(self) -> None:
        """End the process if no round finishes for STUCK_AFTER seconds; a supervisor restarts it.

        The watchdog counts its own seconds, so a process that was suspended as a whole does not
        count as stuck.
        """
        seen, quiet = self.rounds, 0
        while not self.stopping.wait(1):
            seen, quiet = self.rounds, quiet + 1 if self.rounds == seen else 0
            if quiet >= STUCK_AFTER:
                die(f"the dispatcher has not moved for {STUCK_AFTER} s")

    def stop(self) -> None:
        """Stop claiming, and release the claims whose tasks have not begun."""
        self.stopping.set()
        claims.freed.set()
        self.join(ERROR_PAUSE * 4)
        try:
            recovery.release_all(liveness.ME)
        except django.db.Error as error:
            logger.warning("claims are left to run out: %s", error)
        connection.close()


class DispatcherStep(StartStopStep):
    """Starts and stops the dispatcher with Celery's worker."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:  # Any: Celery's own
        super().__init__(worker, **options)
        self.dispatcher: Dispatcher | None = None

    def start(self, worker: Any) -> None:
        """Start the dispatcher. Raises SystemExit if another worker runs or the database fails."""
        raise_file_limit()  # each attempt needs a descriptor or two
        dispatcher = Dispatcher(worker.concurrency, worker.pool)
        try:
            dispatcher.hold()
        except liveness.AnotherWorker as error:
            logger.critical("%s", error)
            raise SystemExit(1) from None
        except psycopg.Error as error:
            logger.critical("the database does not answer: %s", error)
            raise SystemExit(1) from None
        if not settings.SENDING:
            logger.warning("SENDING=off: webhook deliveries and mails are held")
        PeriodicWork.objects.add(PERIODIC)
        gc.collect()
        gc.freeze()  # what exists now stays: scanning it would halt every thread for 0.1 s
        self.dispatcher = dispatcher
        dispatcher.start()
        logger.info("the worker is ready, with %d threads", worker.concurrency)

    def close(self, worker: Any) -> None:
        """Stop claiming. The pool waits for running tasks."""
        if self.dispatcher:
            logger.info("the worker stops, once it has finished what it has begun")
            self.dispatcher.stopping.set()

    def stop(self, worker: Any) -> None:
        """Stop the dispatcher and release its claims."""
        if self.dispatcher:
            self.dispatcher.stop()

    def terminate(self, worker: Any) -> None:
        """Stop in the same way on a forced shutdown."""
        self.stop(worker)


def carry_out(task: "Task[Any, Any]", *args: str) -> None:
    """Run a task in this thread. An unexpected error is logged, and its claim expires."""
    try:
        task(*args)
    except Exception:  # Celery's pool would drop it
        logger.exception("%s failed", task.name)
    finally:
        release_connection()


def die(reason: str) -> None:
    """End the process at once. Its supervisor starts another, which takes over."""
    logger.critical("this worker ends: %s", reason)
    os._exit(os.EX_SOFTWARE)


def _wall_ahead() -> float:
    # A pause between two readings would look like a step of the clock, so the closest pair counts.
    readings = ((time.monotonic(), time.time(), time.monotonic()) for _ in range(3))
    before, wall, _ = min(readings, key=lambda reading: reading[2] - reading[0])
    return wall - before
