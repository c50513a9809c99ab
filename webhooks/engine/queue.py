"""Read waiting and running deliveries, at a cost that does not depend on the queue's length.

Each statement names a chatbot only through the columns `first_of`, `again_of`, `manual_of` and
`running_of` of Delivery, each of which has one index. No other index can serve them, so their plans
do not depend on statistics.
"""

from collections import deque
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from webhooks.engine.fairness import Candidate, Running, Waiting
from webhooks.models import Delivery

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
SUSPECT = 2  # interruptions after which a delivery is suspected of killing workers
NOBODY = UUID(int=0)  # sorts before every chatbot

# Each part follows the order of an index, so that PostgreSQL reads one row, whatever it estimates.
GLANCE = """
SELECT (SELECT d.first_of FROM webhooks_delivery d WHERE d.first_of IS NOT NULL
        ORDER BY d.first_of LIMIT 1) IS NOT NULL,
       (SELECT d.due_at FROM webhooks_delivery d
        WHERE NOT (d.state = 'PENDING') AND d.due_at IS NOT NULL AND d.claim IS NULL
        ORDER BY d.due_at, d.id LIMIT 1),
       (SELECT d.id FROM webhooks_delivery d ORDER BY d.created_at DESC, d.id DESC LIMIT 1)
"""

# The next endpoint after another one, by jumping over the three indexes.
NEXT = """
SELECT nearest.chatbot_id FROM (
    SELECT * FROM (SELECT d.first_of AS chatbot_id FROM webhooks_delivery d
        WHERE d.first_of > {after} ORDER BY d.first_of LIMIT 1) AS first
    UNION ALL
    SELECT * FROM (SELECT d.again_of AS chatbot_id FROM webhooks_delivery d
        WHERE d.again_of > {after} ORDER BY d.again_of LIMIT 1) AS again
    UNION ALL
    SELECT * FROM (SELECT d.manual_of AS chatbot_id FROM webhooks_delivery d
        WHERE d.manual_of > {after} ORDER BY d.manual_of LIMIT 1) AS manual
) AS nearest ORDER BY nearest.chatbot_id LIMIT 1
"""

# A window of endpoints with waiting deliveries; `is_due` is false where all are due later.
WINDOW = f"""
WITH RECURSIVE place(chatbot_id, number) AS (
    SELECT ({NEXT.format(after="%s")}), 1
    UNION ALL
    SELECT ({NEXT.format(after="place.chatbot_id")}), place.number + 1
    FROM place WHERE place.chatbot_id IS NOT NULL AND place.number < %s
)
SELECT c.id, c.account_id, e.attempts_limit, e.timed_out,
       e.last_success_at IS NULL AND e.last_failure_at IS NULL,
       (SELECT COUNT(*) FROM webhooks_delivery d WHERE d.running_of = c.id),
       EXISTS (SELECT 1 FROM webhooks_delivery d WHERE d.first_of = c.id)
       OR %s >= (SELECT d.due_at FROM webhooks_delivery d WHERE d.again_of = c.id
                 ORDER BY d.due_at, d.position LIMIT 1)
       OR %s >= (SELECT d.due_at FROM webhooks_delivery d WHERE d.manual_of = c.id
                 ORDER BY d.due_at, d.position LIMIT 1)
FROM place JOIN chatbots_chatbot c ON c.id = place.chatbot_id
LEFT JOIN webhooks_endpoint e ON e.chatbot_id = c.id
ORDER BY place.number
"""  # noqa: S608 - our own constants only

# An endpoint's due deliveries: retries by due time, first attempts in the order of their events,
# manual retries last, because there may be many and no visitor waits for them. A delivery that
# must follow another one of its thread in flight is left out.
BESIDE = """AND NOT EXISTS (SELECT 1 FROM webhooks_delivery r
    WHERE r.running_of = {chatbot} AND r.thread_id = d.thread_id)"""
RETRIES = """SELECT d.id FROM webhooks_delivery d
    WHERE d.again_of = {chatbot} AND d.due_at <= %s ORDER BY d.due_at, d.position LIMIT %s"""
FIRST = f"""SELECT d.id FROM webhooks_delivery d
    WHERE d.first_of = {{chatbot}} {BESIDE} ORDER BY d.position LIMIT %s"""  # noqa: S608
MANUAL = f"""SELECT d.id FROM webhooks_delivery d
    WHERE d.manual_of = {{chatbot}} AND d.due_at <= %s {BESIDE}
    ORDER BY d.due_at, d.position LIMIT %s"""  # noqa: S608
ORDERED = "d.interruptions, d.due_at, d.position"
ON_SERVER = f"""
SELECT e.id, due.kind, d.id, d.thread_id, {ORDERED}
FROM unnest(%s::uuid[]) AS e(id) CROSS JOIN LATERAL (
    SELECT 0 AS kind, id FROM ({RETRIES.format(chatbot="e.id")}) AS again
    UNION ALL SELECT 1, id FROM ({FIRST.format(chatbot="e.id")}) AS first
    UNION ALL SELECT 2, id FROM ({MANUAL.format(chatbot="e.id")}) AS manual
) AS due JOIN webhooks_delivery d ON d.id = due.id
"""  # noqa: S608
EMBEDDED = f"""
SELECT e.value, 0, d.id, d.thread_id, {ORDERED} FROM json_each(%s) AS e
    JOIN webhooks_delivery d ON d.id IN ({RETRIES.format(chatbot="e.value")})
UNION ALL
SELECT e.value, 1, d.id, d.thread_id, {ORDERED} FROM json_each(%s) AS e
    JOIN webhooks_delivery d ON d.id IN ({FIRST.format(chatbot="e.value")})
UNION ALL
SELECT e.value, 2, d.id, d.thread_id, {ORDERED} FROM json_each(%s) AS e
    JOIN webhooks_delivery d ON d.id IN ({MANUAL.format(chatbot="e.value")})
"""  # noqa: S608

MINE = """
SELECT d.chatbot_id, d.account_id, COUNT(*), e.timed_out,
       e.last_success_at IS NULL AND e.last_failure_at IS NULL,
       SUM(CASE WHEN d.interruptions >= %s THEN 1 ELSE 0 END)
FROM webhooks_delivery d LEFT JOIN webhooks_endpoint e ON e.chatbot_id = d.chatbot_id
WHERE d.claim IS NOT NULL AND d.claimed_by = %s
GROUP BY d.chatbot_id, d.account_id, e.timed_out, e.last_success_at, e.last_failure_at
"""


def now() -> datetime:
    """Return the current time of the clock that sets and compares due times.

    This is the database's clock or, on the embedded default, this machine's.
    """
    if connection.vendor != "postgresql":
        return timezone.now()
    [[time]] = rows("SELECT clock_timestamp()")
    assert isinstance(time, datetime)
    return time


def keep_to_indexes() -> None:
    """Keep PostgreSQL to the order of the indexes until the transaction ends.

    Its statistics about claimed and waiting rows are always out of date: it may estimate a tenth of
    the table where there is a handful, or one row where there are thousands to sort.
    """
    if connection.vendor == "postgresql":
        rows(
            "SELECT set_config('enable_seqscan', 'off', true),"
            " set_config('enable_bitmapscan', 'off', true),"
            " set_config('enable_hashjoin', 'off', true),"
            " set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)"
        )


def glance() -> tuple[datetime | None, UUID | None]:
    """Return when the next attempt is due (None if nothing waits) and the newest delivery's id.

    First attempts are always due: LONG_AGO.
    """
    [[first, later, newest]] = rows(GLANCE)
    return LONG_AGO if first else _time(later), _id(newest) if newest else None


def running(worker: str) -> list[Running]:
    """Return a worker's claimed deliveries, by endpoint."""
    return [
        Running(_id(chatbot), _id(account), count, bool(timed_out or untried), int(suspects))
        for chatbot, account, count, timed_out, untried, suspects in rows(MINE, SUSPECT, worker)
    ]


def window(after: UUID, size: int, current_time: datetime) -> tuple[list[Waiting], UUID | None]:
    """Return the endpoints with due deliveries among the next ones that have waiting deliveries.

    Endpoints are in the order of their chatbots. Also returns the last chatbot that was looked at,
    or None if no other follows.
    """
    due = sql_time(current_time)
    start = sql_id(after)
    found = rows(WINDOW, start, start, start, size, due, due)
    waiting = [
        Waiting(_id(chatbot), _id(account), limit or 1, bool(timed_out or untried), in_flight)
        for chatbot, account, limit, timed_out, untried, in_flight, is_due in found
        if is_due
    ]
    return waiting, _id(found[-1][0]) if len(found) == size else None


def read_due(waiting: list[Waiting], each: int, current_time: datetime) -> None:
    """Read the first due deliveries of endpoints, at most `each` of a kind, in one statement."""
    chatbots, due = [one.chatbot_id for one in waiting], sql_time(current_time)
    if connection.vendor == "postgresql":
        found = rows(ON_SERVER, chatbots, due, each, each, due, each)
    else:
        ids = "[" + ",".join(f'"{one.hex}"' for one in chatbots) + "]"
        found = rows(EMBEDDED, ids, due, each, ids, each, ids, due, each)
    found.sort(key=lambda row: (str(row[0]), row[1], row[6] if row[1] == 1 else (row[5], row[6])))
    by_chatbot = {_id(key): list(some) for key, some in groupby(found, key=lambda row: row[0])}
    for one in waiting:
        one.due = deque(
            Candidate(_id(pk), _id(thread) if thread else None, kind > 0, interruptions >= SUSPECT)
            for _, kind, pk, thread, interruptions, *_ in by_chatbot.get(one.chatbot_id, [])
        )


# Any below: values that a database driver takes and returns
def rows(sql: str, *params: Any) -> list[Any]:
    """Run a statement and return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def _id(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def sql_id(value: UUID) -> Any:
    """Return an id as the database stores it."""
    return Delivery._meta.pk.get_db_prep_value(value, connection)


def sql_time(time: datetime) -> Any:
    """Return a time as the database stores it."""
    return connection.ops.adapt_datetimefield_value(time)


def _time(value: datetime | str | None) -> datetime | None:
    if isinstance(value, str):  # SQLite
        value = datetime.fromisoformat(value)
    return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value
