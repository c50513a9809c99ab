"""The thread of every worker that finds what is due and hands it to Celery.

The database knows what is due; a message only carries it to a thread, and may be lost or doubled.
The thread goes on while the broker is away, and the broker's connection has no part in it.
"""

import gc
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import django.db
import psycopg
from celery import Task
from celery.bootsteps import StartStopStep
from celery.worker import state as worker_state
from django.conf import settings
from django.db import connection
from kombu.exceptions import KombuError

from accounts import mailing
from accounts import tasks as account_tasks
from config.models import PeriodicWork
from config.runtime import broker
from conversations import tasks as conversation_tasks
from conversations.services import owed_reply
from webhooks import tasks as webhook_tasks
from webhooks.engine import claims, liveness, queue, recovery

# Seconds in which more may come before it is looked for: a claim of many costs little more than
# a claim of one. The more the last one found, the longer, up to the second figure.
GATHER, GATHER_MOST = 0.004, 0.02
BUSY_PAUSE, IDLE_PAUSE, BUSY_FOR = 0.01, 0.08, 10.0
FULL_PAUSE = 0.05  # something is due and may not start: what ends, or is new, is followed at once
ERROR_PAUSE = 0.5
TOGETHER = 8  # deliveries in a message: with one in each, Celery costs half of a worker's time
RESERVED = 4  # threads at most that deliveries leave to mails and to periodic work
RENEWED_AFTER = 4.0  # seconds after an outage until living processes have renewed their leases
STUCK_AFTER = 30  # seconds; longer than any wait for a database
CLOCK_WAS_SET = 0.1  # seconds by which wall and steady clock part

# Any: a task may take anything
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
    """Claims and publishes, round after round."""

    def __init__(self, concurrency: int) -> None:
        super().__init__(name="dispatcher", daemon=True)
        self.concurrency = concurrency
        self.reserved = min(RESERVED, concurrency // 4)
        self.slots = concurrency - self.reserved
        self.replies = max(1, concurrency // 2)
        self.lives = liveness.lives()
        self.stopping = threading.Event()
        self.rounds = self.found = 0
        self.busy_until = self.full_until = 0.0
        self.full_with: UUID | None = None  # the newest delivery when nothing more might start
        self.unheard_since: float | None = None
        self.lost_at = self.outage_at = 0.0
        self.looked, self.clock = time.monotonic(), _wall_ahead()
        self.chores: list[tuple[float, Callable[[], None]]] = [
            (0.5, self.take_over),
            (0.5, self.make_replies),
            (0.5, self.send_mails),
            (5.0, self.begin_periodic_work),
        ]
        self.chores_due = [0.0] * len(self.chores)

    def hold(self) -> None:
        """Show that this worker lives. Raises AnotherWorker."""
        for life in self.lives:
            life.hold()

    def run(self) -> None:
        """Go round until told to stop. What is not an error of the database ends the process."""
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
                self.unheard_since = self.full_with = None
        connection.close()

    def must_stop(self) -> bool:
        """Say whether the worker is about to end: told by it, or by the signal that it got."""
        if self.stopping.is_set():
            return True
        if worker_state.should_stop is None and worker_state.should_terminate is None:
            return False
        broker.wake.set()
        return True

    def round(self) -> float:
        """Look after everything once; returns the seconds until the next look."""
        self.follow_clock()
        now = time.monotonic()
        for number, (period, chore) in enumerate(self.chores):
            if now >= self.chores_due[number]:
                self.chores_due[number] = now + period
                chore()
        return self.start_deliveries() if settings.SENDING else IDLE_PAUSE

    def start_deliveries(self) -> float:
        """Claim and publish what is due; returns the seconds until the next look."""
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
        ids = [str(one.delivery_id) for one in claimed]
        claim = str(claimed[0].claim)  # of all that are claimed in one go
        if not publish(webhook_tasks.deliver, *((claim, *some) for some in batched(ids, TOGETHER))):
            claims.release(claimed)
            self.unheard_since = None
            return ERROR_PAUSE
        return 0.0

    def take_over(self) -> None:
        """Hold on to life, and free what dead workers hold."""
        self.hold()
        claimers = recovery.claimers()
        if not (claimers and recovery.take_over(self.lives[-1].dead(claimers))):
            return
        if len(worker_state.active_requests) >= self.concurrency:
            return  # its few threads are busy with mails or periodic work
        # Messages were taken by the broker and nobody began: now and then one is lost; if it is
        # all of them for long, this process has ceased to listen.
        before, self.lost_at = self.lost_at, time.monotonic()
        if self.unheard_since is None or self.lost_at - before > STUCK_AFTER:
            self.unheard_since = self.lost_at  # between the two, others made the attempts
        if self.lost_at - self.unheard_since > STUCK_AFTER:
            die("its own messages do not reach it any more")

    def make_replies(self) -> None:
        """Claim and publish replies that are owed and that no living process makes."""
        if time.monotonic() - self.outage_at < RENEWED_AFTER:
            return
        for message_id, token in owed_reply.claim(liveness.ME, most=self.replies):
            publish(conversation_tasks.make_reply, (str(message_id), str(token)))

    def send_mails(self) -> None:
        """Claim and publish mails that are due."""
        if not settings.SENDING:
            return
        for mail_id, claim in mailing.claim(max(1, self.reserved)):
            if not publish(account_tasks.send_mail, (mail_id, claim)):
                mailing.release(mail_id, claim)

    def begin_periodic_work(self) -> None:
        """Claim and publish periodic work that is due."""
        for name in PeriodicWork.objects.claim():
            if not (name in PERIODIC and publish(PERIODIC[name], ())):
                PeriodicWork.objects.release(name)

    def follow_clock(self) -> None:
        """Notice that this machine's clock was set, where due times are made by it."""
        looked, clock = time.monotonic(), _wall_ahead()
        jump = clock - self.clock
        if settings.EMBEDDED and abs(jump) > CLOCK_WAS_SET:
            logger.warning("the clock was set by %.1f s; due times follow", jump)
            recovery.follow_clock(timedelta(seconds=jump), since=self.looked)
        self.looked, self.clock = looked, clock  # not before they have followed

    def watch(self) -> None:
        """End the process when no round is finished for long: a supervisor starts it again.

        It counts its own seconds: a process that was halted as a whole has not hung.
        """
        seen, quiet = self.rounds, 0
        while not self.stopping.wait(1):
            seen, quiet = self.rounds, quiet + 1 if self.rounds == seen else 0
            if quiet >= STUCK_AFTER:
                die(f"the dispatcher has not moved for {STUCK_AFTER} s")

    def stop(self) -> None:
        """Claim nothing more, and give back what has not begun."""
        self.stopping.set()
        claims.freed.set()
        self.join(ERROR_PAUSE * 4)
        try:
            recovery.release_all(liveness.ME)
        except django.db.Error as error:
            logger.warning("claims are left to run out: %s", error)
        connection.close()


class DispatcherStep(StartStopStep):
    """The dispatcher as a part of Celery's worker: it begins and ends with it."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:  # Any: Celery's own
        super().__init__(worker, **options)
        self.dispatcher: Dispatcher | None = None

    def start(self, worker: Any) -> None:
        """Start, unless another worker is there."""
        dispatcher = Dispatcher(worker.concurrency)
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
        gc.freeze()  # what is there now stays: looking through it would halt every thread 0.1 s
        self.dispatcher = dispatcher
        dispatcher.start()
        logger.info("the worker is ready, with %d threads", worker.concurrency)

    def close(self, worker: Any) -> None:
        """Claim nothing more; what runs is waited for by the pool."""
        if self.dispatcher:
            logger.info("the worker stops, once it has finished what it has begun")
            self.dispatcher.stopping.set()

    def stop(self, worker: Any) -> None:
        """Stop."""
        if self.dispatcher:
            self.dispatcher.stop()

    def terminate(self, worker: Any) -> None:
        """Stop."""
        self.stop(worker)


def publish(task: "Task[Any, Any]", *calls: tuple[str, ...]) -> bool:
    """Publish a task for each of these arguments, in one go where the broker can.

    False where it does not answer; some may have been published then.
    """
    try:
        with task.app.producer_or_acquire() as producer, producer.batch():
            for args in calls:
                task.apply_async(args, producer=producer, retry=False)
    except KombuError as error:
        logger.warning("the broker does not answer: %s", error)
        return False
    return True


def die(reason: str) -> None:
    """End the process at once; whoever supervises it starts another, which takes over."""
    logger.critical("this worker ends: %s", reason)
    os._exit(os.EX_SOFTWARE)


def _wall_ahead() -> float:
    # whoever is held up between two readings sees a step where there is none
    readings = ((time.monotonic(), time.time(), time.monotonic()) for _ in range(3))
    before, wall, _ = min(readings, key=lambda reading: reading[2] - reading[0])
    return wall - before


def batched(values: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    """Cut a sequence into pieces of so many at most."""
    return (values[at : at + most] for at in range(0, len(values), most))
