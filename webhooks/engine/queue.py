"""Read waiting and running deliveries, at a cost that does not depend on the queue's length.

The statements find a chatbot's deliveries only through the columns `waiting_of` and `running_of`,
each of which has one index. No other condition refers to a chatbot, so PostgreSQL always uses these
indexes, even if its statistics are outdated.
"""

import json
from collections import defaultdict, deque
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.utils import timezone

from config.database.prepared import execute
from webhooks.engine.fairness import Candidate, Running, Waiting
from webhooks.models import Delivery
from webhooks.models.delivery import Lane

SUSPECT = 2  # number of interruptions after which a delivery is suspected of killing workers
BEFORE_ALL = UUID(int=0)  # sorts before every chatbot

# Each subquery follows the order of an index, so PostgreSQL reads only one row for each subquery,
# whatever its statistics say.
GLANCE = """
SELECT (SELECT d.starts_at FROM webhooks_delivery d
        WHERE d.due_at IS NOT NULL AND d.running_of IS NULL ORDER BY d.starts_at LIMIT 1),
       (SELECT d.id FROM webhooks_delivery d ORDER BY d.created_at DESC, d.id DESC LIMIT 1)
"""

# The next endpoint after a given one, found by skipping through the index
NEXT = """SELECT d.waiting_of FROM webhooks_delivery d
    WHERE d.waiting_of > {after} ORDER BY d.waiting_of LIMIT 1"""
LANES = "(SELECT 0 AS lane UNION ALL SELECT 1 UNION ALL SELECT 2) AS l"

# True if the endpoint has never been tried, its last attempt timed out, or it has been deleted.
SLOW = (
    """COALESCE(e.timed_out OR (e.last_success_at IS NULL AND e.last_failure_at IS NULL), true)"""
)

# A window: the next endpoints that have waiting deliveries. The last column is true if one of the
# endpoint's deliveries is due.
WINDOW = f"""
WITH RECURSIVE place(chatbot_id, number) AS (
    SELECT ({NEXT.format(after="%s")}), 1
    UNION ALL
    SELECT ({NEXT.format(after="place.chatbot_id")}), place.number + 1
    FROM place WHERE place.chatbot_id IS NOT NULL AND place.number < %s
)
SELECT c.id, c.account_id, e.attempts_limit, {SLOW},
       (SELECT COUNT(*) FROM webhooks_delivery d WHERE d.running_of = c.id),
       EXISTS (SELECT 1 FROM {LANES} WHERE %s >= (
           SELECT d.starts_at FROM webhooks_delivery d
           WHERE d.waiting_of = c.id AND d.lane = l.lane
           ORDER BY d.starts_at, d.position LIMIT 1))
FROM place JOIN chatbots_chatbot c ON c.id = place.chatbot_id
LEFT JOIN webhooks_endpoint e ON e.chatbot_id = c.id
ORDER BY place.number
"""  # noqa: S608 - our own constants only

# An endpoint's first due deliveries in a lane. Except for automatic retries (lane 0), a delivery is
# skipped while another delivery of its thread is in flight.
DUE = """SELECT d.{columns} FROM webhooks_delivery d
    WHERE d.waiting_of = {chatbot} AND d.lane = l.lane AND d.starts_at <= %s
    AND (d.lane = 0 OR NOT EXISTS (SELECT 1 FROM webhooks_delivery r
        WHERE r.running_of = {chatbot} AND r.thread_id = d.thread_id))
    ORDER BY d.starts_at, d.position LIMIT %s"""
COLUMNS = "lane, d.starts_at, d.position, d.id, d.thread_id, d.interruptions"
ON_SERVER = f"""SELECT e.id, due.* FROM unnest(%s::uuid[]) AS e(id) CROSS JOIN {LANES}
CROSS JOIN LATERAL ({DUE.format(columns=COLUMNS, chatbot="e.id")}) AS due"""  # noqa: S608
EMBEDDED = f"""SELECT e.value, d.{COLUMNS} FROM json_each(%s) AS e CROSS JOIN {LANES}
JOIN webhooks_delivery d ON d.id IN ({DUE.format(columns="id", chatbot="e.value")})"""  # noqa: S608

RUNNING = f"""
SELECT d.running_of, d.account_id, COUNT(*), {SLOW} AS slow,
       SUM(CASE WHEN d.interruptions >= %s THEN 1 ELSE 0 END),
       SUM(CASE WHEN d.claimed_by = '' THEN 1 ELSE 0 END)
FROM webhooks_delivery d LEFT JOIN webhooks_endpoint e ON e.chatbot_id = d.running_of
WHERE d.running_of IS NOT NULL GROUP BY d.running_of, d.account_id, slow
"""  # noqa: S608 - our own constants only

# Make PostgreSQL read rows in index order until the transaction ends. Its statistics about claimed
# and waiting rows are always out of date: PostgreSQL may expect a tenth of the table but find a
# handful of rows, or it may expect one row but have to sort thousands.
KEEP_TO_INDEXES = """
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('jit', 'off', true)
"""


def now() -> datetime:
    """Return the current time by the clock that is used for due times.

    This is PostgreSQL's clock or, on SQLite, this machine's clock.
    """
    if connection.vendor != "postgresql":
        return timezone.now()
    [[time]] = rows("SELECT clock_timestamp()")
    assert isinstance(time, datetime)
    return time


def keep_to_indexes() -> None:
    """Make PostgreSQL read rows in index order until the transaction ends."""
    if connection.vendor == "postgresql":
        rows(KEEP_TO_INDEXES)


def glance() -> tuple[datetime | None, UUID | None]:
    """Return when the next attempt is due, if there is one, and the newest delivery's id.

    A waiting first attempt counts as having been due since LONG_AGO.
    """
    [[due, newest]] = rows(GLANCE)
    return time_of(due), _id(newest) if newest else None


def running() -> list[Running]:
    """Count the claimed deliveries, by endpoint."""
    return [
        Running(_id(chatbot), _id(account), count, bool(slow), int(suspects), int(unstarted))
        for chatbot, account, count, slow, suspects, unstarted in rows(RUNNING, SUSPECT)
    ]


def window(after: UUID, size: int, current_time: datetime) -> tuple[list[Waiting], UUID | None]:
    """Read the next `size` endpoints with waiting deliveries; return those with due deliveries.

    The endpoints are ordered by their chatbots' ids. This also returns the id of the last chatbot
    examined, or None if fewer than `size` endpoints were left.
    """
    found = rows(WINDOW, sql_id(after), size, sql_time(current_time))
    waiting = [
        Waiting(_id(chatbot), _id(account), int(limit or 1), bool(slow), in_flight)
        for chatbot, account, limit, slow, in_flight, is_due in found
        if is_due
    ]
    return waiting, _id(found[-1][0]) if len(found) == size else None


def read_due(waiting: list[Waiting], each: int, current_time: datetime) -> None:
    """Set `due` of each waiting endpoint to its first due deliveries, at most `each` per lane.

    A single statement reads the deliveries of all endpoints.
    """
    # Any, because PostgreSQL receives a list and SQLite a JSON string
    chatbots: Any = [one.chatbot_id for one in waiting]
    if connection.vendor == "postgresql":
        found = rows(ON_SERVER, chatbots, sql_time(current_time), each)
    else:
        chatbots = json.dumps([one.hex for one in chatbots])
        found = rows(EMBEDDED, chatbots, sql_time(current_time), each)
    found.sort(key=lambda row: row[1:4])
    due: dict[UUID, deque[Candidate]] = defaultdict(deque)
    for chatbot, lane, _, _, pk, thread, interruptions in found:
        candidate = Candidate(
            _id(pk), _id(thread) if thread else None, lane > Lane.RETRY, interruptions >= SUSPECT
        )
        due[_id(chatbot)].append(candidate)
    for one in waiting:
        one.due = due[one.chatbot_id]


# In the functions below, Any stands for values that a database driver accepts or returns.
def rows(sql: str, *params: Any) -> list[Any]:
    """Run a prepared statement and return its rows."""
    return execute(connections[DEFAULT_DB_ALIAS], sql, [*params], reads=True)[0]


def _id(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def sql_id(value: UUID) -> Any:
    """Return an id as the database stores it."""
    return Delivery._meta.pk.get_db_prep_value(value, connection)


def sql_time(time: datetime) -> Any:
    """Return a time as the database stores it."""
    return connection.ops.adapt_datetimefield_value(time)


def time_of(value: datetime | str | None) -> datetime | None:
    """Parse a time as the database returns it."""
    if isinstance(value, str):  # SQLite
        value = datetime.fromisoformat(value)
    return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value
