"""Claim due deliveries for a worker, within the shares that `fairness` allows.

A claim is a fencing token on the delivery's row. It holds for a few seconds, until its task begins
and exchanges it for a longer one (see `schedule`). Every write is guarded by the token: a worker
that has lost its claim changes nothing.
"""

import threading
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction

from webhooks.engine import queue
from webhooks.engine.fairness import Rotation
from webhooks.engine.liveness import NAMESPACE
from webhooks.engine.work import Claimed
from webhooks.models import Delivery

START = timedelta(seconds=3)  # if the task has not begun by then, its message is lost
MARGIN = timedelta(seconds=20)  # beyond an attempt's deadline, to settle while the database fails
# Any: values of columns of many types
NO_CLAIM: dict[str, Any] = {"claim": None, "claimed_by": "", "claimed_until": None}

freed = threading.Event()  # set when an attempt of this process has ended
_rotation = Rotation()


def lease() -> timedelta:
    """Return how long an attempt may hold its claim."""
    return timedelta(seconds=settings.WEBHOOK_TIMEOUT) + MARGIN


def claim(worker: str, *, slots: int) -> list[Claimed]:
    """Claim due deliveries for a worker with `slots` slots, never more than are free."""
    with transaction.atomic():
        queue.keep_to_indexes()
        _one_claimer_at_a_time()
        token = uuid4()
        chosen = _take(_choose(worker, slots), worker, token)
    return [Claimed(one, token) for one in chosen]


def release(claimed: Iterable[Claimed]) -> None:
    """Give back claims whose tasks will not begin."""
    for one in claimed:
        Delivery.objects.filter(pk=one.delivery_id, claim=one.claim).update(**NO_CLAIM)


def note_answer(chatbot_id: UUID) -> None:
    """Remember that an endpoint has just answered this worker."""
    _rotation.note_answer(chatbot_id, time.monotonic())


def _choose(worker: str, slots: int) -> list[UUID]:
    moment = queue.now()
    running = queue.running(worker, moment, start=START, lease=lease())
    # A delivery that may be killing workers runs without another suspect, which would otherwise
    # be interrupted with it for the last time.
    suspects = not any(one.suspect for one in running)
    chosen = _rotation.choose(
        queue.waiting(moment),
        running,
        slots=slots,
        more=lambda one, count: queue.candidates(one, count, moment=moment, suspects=suspects),
        moment=time.monotonic(),
        timeout=settings.WEBHOOK_TIMEOUT,
    )
    left_out = queue.suspects_of(chosen)[1:]
    return [one for one in chosen if one not in left_out]


def _take(chosen: list[UUID], worker: str, token: UUID) -> list[UUID]:
    free = Delivery.objects.filter(pk__in=chosen, claim=None, due_at__isnull=False)
    until = queue.now() + START
    taken = free.update(claim=token, claimed_by=worker, claimed_until=until)
    if taken == len(chosen):
        return chosen
    # a chatbot was deleted in the meantime
    there = set(Delivery.objects.filter(claim=token).values_list("pk", flat=True))
    return [one for one in chosen if one in there]


def _one_claimer_at_a_time() -> None:
    # Shares are counted, then taken. SQLite's transactions are IMMEDIATE and exclude each other.
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [NAMESPACE])
