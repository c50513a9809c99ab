"""Measure the queue of deliveries, at a bounded cost.

At most MOST entries of each index are counted. A first attempt is due as soon as its delivery is
stored, so first attempts become due in the order of the column `position`.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta

from django.db import connection, transaction

from webhooks.engine import queue
from webhooks.models.delivery import LONG_AGO

MOST = 100_000  # maximum number of deliveries to count in each index
LATE = timedelta(seconds=60)

FIRST = """WITH first AS MATERIALIZED (
    SELECT d.waiting_of, d.starts_at, d.position FROM webhooks_delivery d
    WHERE d.waiting_of IS NOT NULL AND d.lane = 1
    ORDER BY d.waiting_of, d.lane, d.starts_at, d.position LIMIT %s)
SELECT COUNT(*),
    SUM(CASE WHEN first.position <= (SELECT d.position FROM webhooks_delivery d
        WHERE d.created_at <= %s ORDER BY d.created_at DESC, d.id DESC LIMIT 1) THEN 1 ELSE 0 END),
    (SELECT d.due_at FROM webhooks_delivery d JOIN (SELECT * FROM first
        ORDER BY first.position LIMIT 1) o ON d.waiting_of = o.waiting_of AND d.lane = 1
        AND d.starts_at = o.starts_at AND d.position = o.position)
FROM first"""
AGAIN = """SELECT COUNT(*), SUM(CASE WHEN again.due_at <= %s THEN 1 ELSE 0 END), MIN(again.due_at)
FROM (SELECT d.starts_at AS due_at FROM webhooks_delivery d
    WHERE d.due_at IS NOT NULL AND d.running_of IS NULL AND d.starts_at > %s AND d.starts_at <= %s
    ORDER BY d.starts_at LIMIT %s) AS again"""
RUNNING = """SELECT COUNT(*) FROM (SELECT d.running_of FROM webhooks_delivery d
    WHERE d.running_of IS NOT NULL LIMIT %s) AS running"""


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many deliveries are due, are late (due for LATE or longer), and are in flight.

    `oldest_s` is the longest time, in seconds, that any of the due deliveries has been due.
    """

    due: int
    late: int
    oldest_s: float
    in_flight: int


def read() -> Backlog:
    """Count due, late and in-flight deliveries, and measure the longest wait."""
    with transaction.atomic() if connection.vendor == "postgresql" else nullcontext():
        queue.keep_to_indexes()
        now = queue.now()
        long_ago, late, due = map(queue.sql_time, (LONG_AGO, now - LATE, now))
        found = [*queue.rows(FIRST, MOST, late), *queue.rows(AGAIN, late, long_ago, due, MOST)]
        [[in_flight]] = queue.rows(RUNNING, MOST)
    oldest = [time for _, _, value in found if (time := queue.time_of(value))]
    return Backlog(
        due=sum(count for count, *_ in found),
        late=sum(late or 0 for _, late, _ in found),
        oldest_s=max(0.0, (now - min(oldest)).total_seconds()) if oldest else 0.0,
        in_flight=in_flight,
    )
