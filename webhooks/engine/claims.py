"""Claim due deliveries for a worker, within the shares that `fairness` allows.

A claim is a fencing token on the delivery's row. It holds for a few seconds, until its task begins
and exchanges it for a longer one (see `schedule`). Every write is guarded by the token: a worker
that has lost its claim changes nothing.

Deliveries are chosen without a lock and taken under the locks of their endpoints: workers that
claim at the same time take deliveries of different endpoints, and none waits for another.
"""

import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction

from config.runtime.liveness import NAMESPACE
from webhooks.engine import queue
from webhooks.engine.fairness import Candidate, Rotation, Slots, Waiting
from webhooks.engine.work import Claimed
from webhooks.models import Delivery

START = timedelta(seconds=3)  # an attempt that has not begun by then never will
MARGIN = timedelta(seconds=20)  # beyond an attempt's deadline, to settle while the database fails
WINDOW, WINDOWS = 128, 8  # endpoints read together, and how often in one claim
# Due deliveries read of an endpoint: at least, and at most where few endpoints wait
LEAST_READ, MOST_READ = 8, 64
ENDPOINTS = NAMESPACE + 1  # of the advisory locks of endpoints
LOCK = """SELECT e.id, pg_try_advisory_xact_lock(%s, hashtext(e.id::text))
    FROM unnest(%s::uuid[]) AS e(id)"""
# Another worker may have made an attempt of one since it was chosen: its retry is due later.
TAKE = """UPDATE webhooks_delivery
    SET claim = %s, claimed_by = %s, claimed_until = clock_timestamp() + %s
    WHERE id IN (SELECT d.id FROM webhooks_delivery d
        WHERE d.id = ANY(%s::uuid[]) AND d.claim IS NULL AND d.starts_at <= clock_timestamp()
        FOR UPDATE SKIP LOCKED) RETURNING id"""
# A claim that a crash of the server undoes has not begun: the commit of its beginning comes later.
QUICK_COMMIT = "SELECT set_config('synchronous_commit', 'off', true)"
RUNNING = """SELECT d.running_of, d.thread_id FROM webhooks_delivery d
    WHERE d.running_of = ANY(%s::uuid[])"""
# Any: values of columns of many types
NO_CLAIM: dict[str, Any] = {"claim": None, "claimed_by": "", "claimed_until": None}

freed = threading.Event()  # set when an attempt of this process has ended
_rotation = Rotation()
_place = queue.NOBODY  # the last chatbot of the previous window


def lease() -> timedelta:
    """Return how long an attempt may hold its claim."""
    return timedelta(seconds=settings.WEBHOOK_TIMEOUT) + MARGIN


def claim(worker: str, *, slots: int) -> list[Claimed]:
    """Claim due deliveries for a worker with `slots` slots, never more than are free."""
    token = uuid4()
    with transaction.atomic() if connection.vendor == "postgresql" else nullcontext():
        queue.keep_to_indexes()
        chosen = _choose(Slots(queue.running(worker), slots=slots))
    taken = _take(chosen, worker, token) if chosen else []
    return [Claimed(one, token) for one in taken]


def release(claimed: Iterable[Claimed]) -> None:
    """Give back claims whose tasks will not begin."""
    for one in claimed:
        Delivery.objects.filter(pk=one.delivery_id, claim=one.claim).update(**NO_CLAIM)


def _choose(slots: Slots) -> list[tuple[Waiting, Candidate]]:
    """Choose deliveries from the next window of endpoints that has some that may start."""
    global _place
    current_time, from_start = queue.now(), _place == queue.NOBODY
    for _ in range(WINDOWS):
        waiting, last = queue.window(_place, WINDOW, current_time)
        _place = last or queue.NOBODY
        if able := [one for one in waiting if slots.admit(one)]:
            each = max(LEAST_READ, min(MOST_READ, 2 * slots.free // len(able)))
            queue.read_due(able, each, current_time)
            if chosen := _rotation.choose(able, slots):
                return chosen
        if last is None and from_start:  # all endpoints were looked at
            break
        from_start = from_start or last is None
    return []


def _take(chosen: list[tuple[Waiting, Candidate]], worker: str, token: UUID) -> list[UUID]:
    """Claim the chosen deliveries, except those whose endpoint another worker has just served."""
    if connection.vendor != "postgresql":  # there is one worker
        return _write([one.delivery_id for _, one in chosen], worker, token)
    with transaction.atomic():
        queue.keep_to_indexes()
        queue.rows(QUICK_COMMIT)
        allowed = _still_allowed(chosen)
        taken = {one for (one,) in queue.rows(TAKE, token, worker, START, allowed)}
    return [one for one in allowed if one in taken]


def _still_allowed(chosen: list[tuple[Waiting, Candidate]]) -> list[UUID]:
    """Lock the endpoints of the chosen deliveries, and check their limits and threads again."""
    chatbots = list({one.chatbot_id for one, _ in chosen})
    locked = [chatbot for chatbot, got in queue.rows(LOCK, ENDPOINTS, chatbots) if got]
    in_flight: Counter[UUID] = Counter()
    threads: set[UUID | None] = set()
    for chatbot, thread in queue.rows(RUNNING, locked):
        in_flight[chatbot] += 1
        threads.add(thread)
    allowed = []
    for one, candidate in chosen:
        waits = candidate.in_order and candidate.thread_id and candidate.thread_id in threads
        if one.chatbot_id in locked and in_flight[one.chatbot_id] < one.limit and not waits:
            in_flight[one.chatbot_id] += 1
            allowed.append(candidate.delivery_id)
    return allowed


def _write(ids: list[UUID], worker: str, token: UUID) -> list[UUID]:
    time = queue.now()
    free = Delivery.objects.filter(pk__in=ids, claim=None, starts_at__lte=time)
    taken = free.update(claim=token, claimed_by=worker, claimed_until=time + START)
    if taken == len(ids):
        return ids
    # a chatbot was deleted in the meantime
    there = set(Delivery.objects.filter(claim=token).values_list("pk", flat=True))
    return [one for one in ids if one in there]
