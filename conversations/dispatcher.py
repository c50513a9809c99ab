"""A worker's dispatcher: a thread that claims due work and runs it on the worker's other threads.

Due times are stored in the database. A worker runs its claimed work on its own threads, so no
task waits for the message broker or occupies another worker's thread.
"""

import gc
import logging
import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import django.db
import psycopg
from celery import Task
from celery.bootsteps import StartStopStep
from django.conf import settings
from django.db import connection, transaction

from accounts import mail_queue
from accounts import tasks as account_tasks
from accounts.models import Mail
from config.database.availability import discard_dead_connections
from config.database.claims import claimers, follow_clock, take_over
from config.database.connections import configure_sessions
from config.database.locks import WORKER_LOCK_TIMEOUT, left_if_locked
from config.database.postgresql.outage import outage, reason
from config.metrics import Gauge, serve, watch_pool
from config.models import PeriodicWork
from config.runtime import broker, liveness
from config.runtime.hangup import stop_on_hangup
from config.runtime.processes import grace, raise_file_limit
from config.runtime.worker_threads import WorkerThreads
from config.stop_signal import worker_is_stopping
from conversations import tasks as conversation_tasks
from conversations.services import owed_reply
from webhooks import tasks as webhook_tasks
from webhooks.engine import claims, metrics, queue, recovery
from webhooks.models.delivery import LONG_AGO
from webhooks.services import retry_job

# Deliveries are cheaper to claim in batches, so the dispatcher waits after every round: for at
# least GATHER and at most GATHER_MOST seconds, and longer after a larger claim.
GATHER, GATHER_MOST = 0.002, 0.01
BUSY_PAUSE, IDLE_PAUSE, BUSY_FOR = 0.01, 0.08, 10.0
# Seconds to wait after a claim that found nothing. The wait ends early if a delivery arrives or
# finishes.
FULL_PAUSE = 0.05
ERROR_PAUSE = 0.5
RESERVED = 4  # maximum number of threads kept free for emails and periodic work
# Seconds within which live processes renew their leases and store pending results after an
# outage, including the time that they wait for a connection or for the next attempt.
RENEWED_AFTER = 8.0
# A worker is stuck if no round finishes in this many seconds. All database timeouts are shorter.
STUCK_AFTER = 30
CLOCK_WAS_SET = 0.1  # a jump of more than this many seconds means that the wall clock was set

CLAIMED = (Mail, PeriodicWork)  # what workers claim besides deliveries and owed replies
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

THREADS = Gauge("chatbots_worker_threads", "Worker threads", multiprocess_mode="livesum")

logger = logging.getLogger(__name__)


class Dispatcher(threading.Thread):
    """Runs rounds. Each round claims due work and starts tasks for it on the pool.

    `pool` is Celery's pool, or any object with the same `apply_async(target, args)`.
    """

    def __init__(self, concurrency: int, pool: Any = None) -> None:  # Any: Celery's pool
        super().__init__(name="dispatcher", daemon=True)
        self.threads = WorkerThreads(pool)
        self.concurrency = concurrency
        self.reserved = min(RESERVED, concurrency // 4)
        self.slots = concurrency - self.reserved
        self.replies = max(1, concurrency // 2)
        self.lives = liveness.lives()
        self.stopping = threading.Event()
        self.rounds = self.found = 0
        self.busy_until = self.full_until = 0.0
        self.full_with: UUID | None = None  # the newest delivery when a claim last found nothing
        self.renewed_at = 0.0  # when live processes will have renewed their leases after an outage
        self.looked, self.clock = time.monotonic(), _wall_ahead()
        self.chores: list[tuple[float, Callable[[], None]]] = [
            (0.5, self.take_over),
            (0.5, self.make_replies),
            (0.5, self.send_mails),
            (1.0, self.advance_retry_jobs),
            (5.0, self.begin_periodic_work),
        ]
        self.chores_due = [0.0] * len(self.chores)

    def begin_watch(self) -> None:
        """Start the watchdog, which runs until the process ends."""
        threading.Thread(target=self.watch, name="watchdog", daemon=True).start()

    def hold(self) -> None:
        """Take or keep this worker's liveness locks. Raises AnotherWorker or a database error."""
        for life in self.lives:
            life.hold()

    def run(self) -> None:
        """Run rounds until told to stop.

        After a database error, the next round tries again. Any other error ends this thread, and
        `watch` then ends the process.
        """
        while not self.must_stop():
            try:
                pause = self.round()
            except (django.db.Error, psycopg.Error) as error:
                if not outage.under_way:  # otherwise, `outage` has logged the reason
                    extra = {"bounded": True}
                    logger.warning("dispatcher: a round failed: %s", reason(error), extra=extra)
                connection.close()
                discard_dead_connections(error)
                self.renewed_at = time.monotonic() + RENEWED_AFTER
                pause = ERROR_PAUSE
            self.rounds += 1
            self.stopping.wait(min(GATHER_MOST, GATHER * max(1, self.found)))
            if claims.freed.wait(pause):
                claims.freed.clear()
                self.full_with = None
        connection.close()

    def must_stop(self) -> bool:
        """Return whether Celery or a signal has asked the worker to stop."""
        if self.stopping.is_set():
            return True
        if not worker_is_stopping():
            return False
        broker.wake.set()
        return True

    def round(self) -> float:
        """Run the due chores and start deliveries. Returns how many seconds to pause."""
        self.follow_clock()
        now = time.monotonic()
        for number, (period, chore) in enumerate(self.chores):
            if now >= self.chores_due[number]:
                self.chores_due[number] = now + period
                with left_if_locked(chore.__name__):
                    chore()
        return self.start_deliveries() if settings.SENDING else IDLE_PAUSE

    def start_deliveries(self) -> float:
        """Claim due deliveries and start their tasks. Returns how many seconds to pause."""
        self.found = 0
        due, newest = queue.glance()
        pause = BUSY_PAUSE if time.monotonic() < self.busy_until else IDLE_PAUSE
        if due is None:
            return pause
        if due > LONG_AGO and (wait := (due - queue.now()).total_seconds()) > 0:
            return min(wait, pause)
        if newest == self.full_with and time.monotonic() < self.full_until:
            return pause
        with metrics.CLAIM_SECONDS.time():
            claimed = claims.claim(liveness.ME, slots=self.slots - len(owed_reply.renewal.claims))
        self.found = len(claimed)
        metrics.CLAIMED.inc(self.found)
        if not claimed:
            self.full_with, self.full_until = newest, time.monotonic() + FULL_PAUSE
            return pause
        self.busy_until = time.monotonic() + BUSY_FOR
        for one in claimed:
            self.threads.start(webhook_tasks.deliver, str(one.claim), str(one.delivery_id))
        return 0.0

    def take_over(self) -> None:
        """Keep this worker's liveness locks, and free expired claims and those of dead workers."""
        self.hold()
        names = recovery.claimers().union(*map(claimers, CLAIMED))
        if names:
            dead = self.lives[-1].dead(names)
            for model in CLAIMED:
                take_over(model, dead)
            recovery.take_over(dead, expired=time.monotonic() >= self.renewed_at)

    def make_replies(self) -> None:
        """Claim owed replies that no process is generating, and start their tasks."""
        if time.monotonic() < self.renewed_at:
            return
        for message_id, token in owed_reply.claim(liveness.ME, most=self.replies):
            release = partial(owed_reply.release, message_id, token)
            arguments = str(message_id), str(token)
            self.threads.start(conversation_tasks.make_reply, *arguments, release=release)

    def send_mails(self) -> None:
        """Claim due emails, and start the tasks that send them."""
        if not settings.SENDING:
            return
        for mail_id, claim in mail_queue.claim(max(1, self.reserved)):
            release = partial(mail_queue.release, mail_id, claim)
            self.threads.start(account_tasks.send_mail, mail_id, claim, release=release)

    def advance_retry_jobs(self) -> None:
        """Start the task that advances the running retry jobs, if there are any."""
        if settings.SENDING and retry_job.is_running():
            self.threads.start(webhook_tasks.advance_retry_jobs)

    def begin_periodic_work(self) -> None:
        """Claim and start due periodic work."""
        for name, claim in PeriodicWork.objects.claim(liveness.ME):
            release = partial(PeriodicWork.objects.release, name, claim)
            if name in PERIODIC:
                self.threads.start(PERIODIC[name], claim, release=release)
            else:
                release()

    def follow_clock(self) -> None:
        """Shift due times and leases if this machine's clock was changed.

        This is needed only in embedded mode. With PostgreSQL, the database's clock sets the times.
        """
        looked, clock = time.monotonic(), _wall_ahead()
        jump = clock - self.clock
        if settings.EMBEDDED and abs(jump) > CLOCK_WAS_SET:
            logger.warning("the clock was changed by %.1f s; due times are adjusted", jump)
            with transaction.atomic():
                recovery.follow_clock(timedelta(seconds=jump), since=self.looked)
                for model in CLAIMED:
                    follow_clock(model, timedelta(seconds=jump))
        self.looked, self.clock = looked, clock  # set last, so that a failed adjustment is retried

    def watch(self) -> None:
        """End the process if it is stuck, so that its supervisor restarts it.

        It is stuck if no round finishes within STUCK_AFTER seconds, or within `grace()` seconds
        once it has to stop. Time is measured by counting one-second sleeps, so that time
        during which the process is suspended does not count.
        """
        seen, quiet = self.rounds, 0
        while True:
            time.sleep(1)
            seen, quiet = self.rounds, quiet + 1 if self.rounds == seen else 0
            if quiet >= (grace() if self.must_stop() else STUCK_AFTER):
                die(f"no round has finished in {quiet} s")

    def stop(self) -> None:
        """Stop claiming, and release the claims whose tasks have not begun."""
        self.stopping.set()
        claims.freed.set()
        self.join(ERROR_PAUSE * 4)
        try:
            recovery.release_all(liveness.ME)
            self.threads.release_waiting()
        except django.db.Error as error:
            logger.warning("the claims were not released and will expire: %s", error)
        connection.close()


class DispatcherStep(StartStopStep):
    """Starts and stops the dispatcher with Celery's worker."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:  # Any: Celery's worker
        super().__init__(worker, **options)
        self.dispatcher: Dispatcher | None = None

    def start(self, worker: Any) -> None:
        """Start the dispatcher. Logs the reason and raises SystemExit if it cannot run."""
        stop_on_hangup()
        raise_file_limit()  # each delivery attempt needs one or two file descriptors
        # A plan cached while a table is small would still scan the whole table after it has grown.
        configure_sessions(lock_timeout=WORKER_LOCK_TIMEOUT, plan_cache_mode="force_custom_plan")
        dispatcher = Dispatcher(worker.concurrency, worker.pool)
        dispatcher.begin_watch()
        try:
            dispatcher.hold()
        except (liveness.AnotherWorker, psycopg.Error) as error:
            logger.critical("the worker cannot start: %s", reason(error))
            raise SystemExit(1) from None
        if not settings.SENDING:
            logger.warning("SENDING=off: webhook deliveries and emails are held")
        self.show_metrics(worker.concurrency)
        PeriodicWork.objects.add(PERIODIC)
        gc.collect()
        gc.freeze()  # otherwise, scanning the startup objects would pause all threads for 0.1 s
        self.dispatcher = dispatcher
        dispatcher.start()
        logger.info("the worker is ready, with %d threads", worker.concurrency)

    def show_metrics(self, concurrency: int) -> None:
        """Serve the metrics on METRICS_PORT, if it is set. Raises SystemExit if that fails."""
        THREADS.set(concurrency)
        watch_pool()
        if settings.METRICS_PORT is None:
            return
        try:
            serve(settings.HOST, settings.METRICS_PORT)
        except OSError as error:
            address = f"{settings.HOST}:{settings.METRICS_PORT}"
            logger.critical("cannot listen on %s (METRICS_PORT): %s", address, error.strerror)
            raise SystemExit(1) from None

    def close(self, worker: Any) -> None:
        """Stop claiming. The pool waits for running tasks."""
        if self.dispatcher:
            logger.info("the worker will stop as soon as its running tasks have finished")
            self.dispatcher.stopping.set()

    def stop(self, worker: Any) -> None:
        """Stop the dispatcher and release its claims."""
        if self.dispatcher:
            self.dispatcher.stop()

    def terminate(self, worker: Any) -> None:
        """Stop the dispatcher and release its claims when the worker is forced to shut down."""
        self.stop(worker)


def die(reason: str) -> None:
    """End the process immediately. Its supervisor starts a new one, which takes over the work."""
    logger.critical("this worker is exiting: %s", reason)
    os._exit(os.EX_SOFTWARE)


def _wall_ahead() -> float:
    # A pause between two readings would look like a clock change, so use the fastest of 3 tries.
    readings = ((time.monotonic(), time.time(), time.monotonic()) for _ in range(3))
    before, wall, _ = min(readings, key=lambda reading: reading[2] - reading[0])
    return wall - before
