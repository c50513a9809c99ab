"""Claim due deliveries for a worker, within the shares that `fairness` allows.

A claim is a fencing token on the delivery's row. It expires after a few seconds. If the attempt
begins before then, a longer claim replaces it (see `schedule`). The token guards every write, so a
worker that has lost its claim changes nothing.

Deliveries are chosen without taking a lock, but claimed only while their endpoints are locked.
Concurrent workers therefore claim deliveries of different endpoints, and no worker waits for
another.
"""

import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from datetime import timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction

from config.database.claims import NO_CLAIM
from config.runtime.liveness import NAMESPACE
from webhooks.engine import queue
from webhooks.engine.fairness import Candidate, Rotation, Slots, Waiting
from webhooks.engine.work import Claimed
from webhooks.models import Delivery

START = timedelta(seconds=3)  # lifetime of a claim whose attempt has not begun
# How long a claim stays valid after the deadline of its attempt. During this time, a failed write
# of the attempt's result can be retried.
MARGIN = timedelta(seconds=20)
WINDOW, WINDOWS = 128, 8  # number of endpoints per window; maximum number of windows per claim
# Minimum and maximum number of due deliveries to read per endpoint and lane (see `Lane`). Within
# these limits, the number read is twice the number that could start, because some deliveries may
# have to wait for others in their threads.
LEAST_READ, MOST_READ = 8, 64
ENDPOINTS = NAMESPACE + 1  # namespace of the endpoints' advisory locks
# PostgreSQL receives these statements in one request and runs them as one transaction, so no lock
# is held while a busy worker prepares the next statement. The commit does not wait for the disk. If
# the server crashes, a claim may be undone, but an attempt that has begun stays recorded, because
# the commit that recorded it was durable. Once the endpoints are locked, the last statement checks
# the chosen deliveries again. In the meantime, another worker may have started other deliveries to
# the same endpoint, or may have attempted a chosen delivery and scheduled its retry.
TAKE = f"""{queue.KEEP_TO_INDEXES}, set_config('synchronous_commit', 'off', true);
SELECT set_config('webhooks.locked', COALESCE(array_agg(e.id), '{{}}')::text, true)
    FROM unnest(%(endpoints)s::uuid[]) AS e(id)
    WHERE pg_try_advisory_xact_lock({ENDPOINTS}, hashtext(e.id::text));
WITH locked AS MATERIALIZED (SELECT current_setting('webhooks.locked')::uuid[] AS ids)
UPDATE webhooks_delivery
    SET claim = %(claim)s, claimed_by = %(worker)s, claimed_until = clock_timestamp() + %(lease)s
    WHERE id IN (SELECT d.id
        FROM unnest(%(chosen)s::uuid[], %(of)s::uuid[], %(most)s::int[], %(in_order)s::bool[])
            AS c(id, chatbot_id, most, in_order)
        JOIN webhooks_delivery d ON d.id = c.id
        WHERE d.claim IS NULL AND d.starts_at <= clock_timestamp()
        AND c.chatbot_id = ANY((SELECT ids FROM locked)::uuid[])
        AND (SELECT COUNT(*) FROM webhooks_delivery r WHERE r.running_of = c.chatbot_id) <= c.most
        AND NOT (c.in_order AND EXISTS (SELECT 1 FROM webhooks_delivery r
            WHERE r.running_of = c.chatbot_id AND r.thread_id = d.thread_id))
        FOR UPDATE OF d SKIP LOCKED) RETURNING id"""  # noqa: S608 - our own constants only

freed = threading.Event()  # set whenever this process finishes an attempt
_rotation = Rotation()
_place = queue.BEFORE_ALL  # the last chatbot of the previous window


def lease() -> timedelta:
    """Return how long an attempt may hold its claim."""
    return timedelta(seconds=settings.WEBHOOK_TIMEOUT) + MARGIN


def claim(worker: str, *, slots: int) -> list[Claimed]:
    """Claim due deliveries for a worker with `slots` slots, at most one for each free slot."""
    token = uuid4()
    with transaction.atomic() if connection.vendor == "postgresql" else nullcontext():
        queue.keep_to_indexes()
        chosen = _choose(Slots(queue.running(worker), slots=slots))
    taken = _take(chosen, worker, token) if chosen else []
    return [Claimed(one, token) for one in taken]


def release(claimed: Iterable[Claimed]) -> None:
    """Release claims whose attempts will not begin."""
    for one in claimed:
        Delivery.objects.filter(pk=one.delivery_id, claim=one.claim).update(**NO_CLAIM)


def _choose(slots: Slots) -> list[tuple[Waiting, Candidate]]:
    """Examine windows until one has deliveries that may start, and choose among them."""
    global _place
    current_time, from_start = queue.now(), _place == queue.BEFORE_ALL
    for _ in range(WINDOWS):
        waiting, last = queue.window(_place, WINDOW, current_time)
        _place = last or queue.BEFORE_ALL
        if able := [one for one in waiting if slots.admit(one)]:
            room = max(one.limit - one.in_flight for one in able)
            each = max(LEAST_READ, min(MOST_READ, 2 * room, 2 * slots.free // len(able)))
            queue.read_due(able, each, current_time)
            if chosen := _rotation.choose(able, slots):
                return chosen
        if last is None and from_start:  # every endpoint has been examined
            break
        from_start = from_start or last is None
    return []


def _take(chosen: list[tuple[Waiting, Candidate]], worker: str, token: UUID) -> list[UUID]:
    """Claim the chosen deliveries that may still start and whose endpoints can be locked."""
    if connection.vendor != "postgresql":  # SQLite allows only one worker
        return _take_on_sqlite([one.delivery_id for _, one in chosen], worker, token)
    in_flight = Counter[UUID]()  # deliveries chosen so far, by endpoint
    # A delivery is claimed only if at most this many attempts to its endpoint are in flight
    most = []
    for one, _ in chosen:
        in_flight[one.chatbot_id] += 1
        most.append(one.limit - in_flight[one.chatbot_id])
    found = queue.rows(
        TAKE,
        endpoints=[*in_flight],
        claim=token,
        worker=worker,
        lease=START,
        chosen=[candidate.delivery_id for _, candidate in chosen],
        of=[one.chatbot_id for one, _ in chosen],
        most=most,
        in_order=[candidate.in_order for _, candidate in chosen],
    )
    taken = {pk for (pk,) in found}
    return [one.delivery_id for _, one in chosen if one.delivery_id in taken]


def _take_on_sqlite(ids: list[UUID], worker: str, token: UUID) -> list[UUID]:
    time = queue.now()
    free = Delivery.objects.filter(pk__in=ids, claim=None, starts_at__lte=time)
    taken = free.update(claim=token, claimed_by=worker, claimed_until=time + START)
    if taken == len(ids):
        return ids
    # Some deliveries have been deleted or changed in the meantime.
    there = set(Delivery.objects.filter(claim=token).values_list("pk", flat=True))
    return [one for one in ids if one in there]
