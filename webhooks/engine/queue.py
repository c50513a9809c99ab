"""Read waiting and running deliveries, at a cost that does not depend on the queue's length.

Each statement jumps from one endpoint, or thread, to the next over a partial index that contains
only waiting deliveries: thousands of deliveries to one dead receiver cost as much as one. The
conditions repeat those of the indexes on Delivery word for word, otherwise the database does not
use the indexes.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from webhooks.engine.fairness import PER_ENDPOINT, Candidate, Running, Waiting
from webhooks.models import Delivery
from webhooks.models.delivery import State

THREADS = 64  # threads of one endpoint whose first attempts are read in one claim
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
SEEMS_SLOW = timedelta(seconds=1)  # an attempt that lasts longer is expected to time out
SUSPECT = 2  # interruptions after which a delivery is suspected of killing workers


def _over(index: str) -> str:
    # SQLite keeps no statistics of these indexes and has to be told which one to use.
    return f"webhooks_delivery d INDEXED BY {index}" if settings.EMBEDDED else "webhooks_delivery d"


# Waiting deliveries, by kind of attempt. "d" is the delivery.
FIRST = f"""{_over("delivery_first")}
    WHERE d.state = 'PENDING' AND d.due_at IS NOT NULL AND d.claim IS NULL"""
AGAIN = f"""{_over("delivery_again")}
    WHERE d.state = 'RETRYING' AND d.due_at IS NOT NULL AND d.claim IS NULL"""
MANUAL = f"""{_over("delivery_asked")}
    WHERE d.state = 'FAILED' AND d.due_at IS NOT NULL AND d.claim IS NULL"""
LATER = f"""{_over("delivery_due")}
    WHERE NOT (d.state = 'PENDING') AND d.due_at IS NOT NULL AND d.claim IS NULL"""

# Each part follows the order of an index, so that PostgreSQL reads one row, whatever it estimates.
GLANCE = f"""
SELECT (SELECT d.chatbot_id FROM {FIRST} ORDER BY d.chatbot_id LIMIT 1) IS NOT NULL,
       (SELECT d.due_at FROM {LATER} ORDER BY d.due_at, d.id LIMIT 1),
       (SELECT d.id FROM webhooks_delivery d ORDER BY d.created_at DESC, d.id DESC LIMIT 1)
"""  # noqa: S608 - our own constants only, here and below

# The endpoints that wait for each kind of attempt, found by jumping over the index from one chatbot
# to the next; then those whose earliest delivery is due. First attempts are always due.
WAITING = f"""
WITH RECURSIVE
first(chatbot_id) AS (
    SELECT (SELECT d.chatbot_id FROM {FIRST} ORDER BY d.chatbot_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.chatbot_id FROM {FIRST}
            AND d.chatbot_id > first.chatbot_id ORDER BY d.chatbot_id LIMIT 1)
    FROM first WHERE first.chatbot_id IS NOT NULL
),
again(chatbot_id) AS (
    SELECT (SELECT d.chatbot_id FROM {AGAIN} ORDER BY d.chatbot_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.chatbot_id FROM {AGAIN}
            AND d.chatbot_id > again.chatbot_id ORDER BY d.chatbot_id LIMIT 1)
    FROM again WHERE again.chatbot_id IS NOT NULL
),
manual(chatbot_id) AS (
    SELECT (SELECT d.chatbot_id FROM {MANUAL} ORDER BY d.chatbot_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.chatbot_id FROM {MANUAL}
            AND d.chatbot_id > manual.chatbot_id ORDER BY d.chatbot_id LIMIT 1)
    FROM manual WHERE manual.chatbot_id IS NOT NULL
),
due(chatbot_id, kind) AS (
    SELECT chatbot_id, 'first' FROM first
    UNION ALL
    SELECT chatbot_id, 'again' FROM again
    WHERE %s >= (SELECT d.due_at FROM {AGAIN}
                 AND d.chatbot_id = again.chatbot_id ORDER BY d.due_at, d.id LIMIT 1)
    UNION ALL
    SELECT chatbot_id, 'manual' FROM manual
    WHERE %s >= (SELECT d.due_at FROM {MANUAL}
                 AND d.chatbot_id = manual.chatbot_id ORDER BY d.due_at, d.id LIMIT 1)
),
endpoint(chatbot_id, has_first, has_again, has_manual) AS (
    SELECT chatbot_id,
           MAX(CASE WHEN kind = 'first' THEN 1 ELSE 0 END),
           MAX(CASE WHEN kind = 'again' THEN 1 ELSE 0 END),
           MAX(CASE WHEN kind = 'manual' THEN 1 ELSE 0 END)
    FROM due GROUP BY chatbot_id
)
SELECT c.id, c.account_id, e.timed_out, has_first, has_again, has_manual
FROM endpoint JOIN chatbots_chatbot c ON c.id = endpoint.chatbot_id
LEFT JOIN webhooks_endpoint e ON e.chatbot_id = c.id
"""  # noqa: S608

RETRIES = f"""
SELECT d.id, d.thread_id FROM {AGAIN} AND d.chatbot_id = %s AND d.due_at <= %s
ORDER BY d.due_at, d.id LIMIT %s
"""  # noqa: S608
MANUAL_RETRIES = f"""
SELECT d.id, d.thread_id FROM {MANUAL} AND d.chatbot_id = %s AND d.due_at <= %s
ORDER BY d.due_at, d.id LIMIT %s
"""  # noqa: S608

# The oldest first attempt of each thread, and the first attempts that belong to no thread.
HEADS = f"""
WITH RECURSIVE thread(id) AS (
    SELECT (SELECT d.thread_id FROM {FIRST} AND d.chatbot_id = %s AND d.thread_id IS NOT NULL
            ORDER BY d.thread_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.thread_id FROM {FIRST} AND d.chatbot_id = %s AND d.thread_id > thread.id
            ORDER BY d.thread_id LIMIT 1)
    FROM thread WHERE thread.id IS NOT NULL
)
SELECT * FROM (
    SELECT * FROM (
        SELECT (SELECT d.id FROM {FIRST} AND d.chatbot_id = %s AND d.thread_id = thread.id
                ORDER BY d.id LIMIT 1) AS id, thread.id AS thread_id
        FROM thread WHERE thread.id IS NOT NULL LIMIT %s
    ) heads ORDER BY id LIMIT %s
) oldest
UNION ALL
SELECT * FROM (
    SELECT d.id, d.thread_id FROM {FIRST} AND d.chatbot_id = %s AND d.thread_id IS NULL
    ORDER BY d.id LIMIT %s
) without_thread
"""  # noqa: S608

_OF_RUNNING = (
    "chatbot_id",
    "account_id",
    "thread_id",
    "state",
    "interruptions",
    "claimed_by",
    "claimed_until",
    "chatbot__endpoint__timed_out",
)


def now() -> datetime:
    """Return the current time of the clock that sets and compares due times.

    This is the database's clock or, on the embedded default, this machine's.
    """
    if connection.vendor != "postgresql":
        return timezone.now()
    [[moment]] = _rows("SELECT clock_timestamp()")
    assert isinstance(moment, datetime)
    return moment


def keep_to_indexes() -> None:
    """Keep PostgreSQL from scanning the whole log until the transaction ends.

    Its statistics about claimed and waiting rows are always out of date: it may estimate a tenth of
    the table where there is a handful.
    """
    if connection.vendor == "postgresql":
        _rows("SELECT set_config('enable_seqscan', 'off', true)")


def glance() -> tuple[datetime | None, UUID | None]:
    """Return when the next attempt is due (None if nothing waits) and the newest delivery's id.

    First attempts are always due: LONG_AGO.
    """
    [[first, later, newest]] = _rows(GLANCE)
    return LONG_AGO if first else _moment(later), _id(newest) if newest else None


def running(worker: str, moment: datetime, *, start: timedelta, lease: timedelta) -> list[Running]:
    """Return the claimed deliveries of all workers.

    `start` and `lease` are the lengths of a claim before and after its attempt begins. An attempt
    in flight for longer than SEEMS_SLOW counts as slow.
    """
    rows = Delivery.objects.filter(claim__isnull=False).values_list(*_OF_RUNNING)
    return [
        Running(
            chatbot_id,
            account_id,
            thread_id,
            mine=claimed_by == worker,
            slow=bool(timed_out) or start < _left(until, moment) < lease - SEEMS_SLOW,
            manual=state == State.FAILED,
            suspect=interruptions >= SUSPECT,
        )
        for (
            chatbot_id,
            account_id,
            thread_id,
            state,
            interruptions,
            claimed_by,
            until,
            timed_out,
        ) in rows
    ]


def waiting(moment: datetime) -> list[Waiting]:
    """Return the endpoints that have due deliveries."""
    due = _sql_moment(moment)
    return [
        Waiting(
            _id(chatbot),
            _id(account),
            slow=bool(timed_out),
            first=bool(first),
            again=bool(again),
            manual=bool(manual),
        )
        for chatbot, account, timed_out, first, again, manual in _rows(WAITING, due, due)
    ]


def candidates(of: Waiting, count: int, *, moment: datetime, suspects: bool) -> list[Candidate]:
    """Return an endpoint's due deliveries: retries by due time, then the oldest of each thread.

    Manual retries come last: there may be many, and no visitor waits for them. Without `suspects`,
    deliveries that may be killing workers are left out.
    """
    if suspects:
        return _candidates(of, count, moment)
    found = _candidates(of, count + PER_ENDPOINT, moment)
    barred = set(suspects_of(one.delivery_id for one in found))
    return [one for one in found if one.delivery_id not in barred][:count]


def _candidates(of: Waiting, count: int, moment: datetime) -> list[Candidate]:
    chatbot, due = _sql_id(of.chatbot_id), _sql_moment(moment)
    found: list[Candidate] = []
    if of.again:
        found = [_candidate(*row) for row in _rows(RETRIES, chatbot, due, count)]
    if of.first and len(found) < count:
        oldest = count + PER_ENDPOINT  # some may wait for another delivery of their thread
        heads = _rows(HEADS, chatbot, chatbot, chatbot, THREADS, oldest, chatbot, count)
        first = [_candidate(*row, first=True) for row in heads]
        found += sorted(first, key=lambda one: one.delivery_id)
    if of.manual and len(found) < count:
        rows = _rows(MANUAL_RETRIES, chatbot, due, count)
        found += [_candidate(*row, manual=True) for row in rows]
    return found


def suspects_of(delivery_ids: Iterable[UUID]) -> list[UUID]:
    """Return those deliveries that were in flight when workers died, repeatedly; oldest first."""
    rows = Delivery.objects.filter(pk__in=delivery_ids, interruptions__gte=SUSPECT).order_by("pk")
    return list(rows.values_list("pk", flat=True))


def _left(until: datetime | None, moment: datetime) -> timedelta:
    return until - moment if until else timedelta(0)


# Any below: values that a database driver takes and returns
def _candidate(row: Any, thread: Any, *, first: bool = False, manual: bool = False) -> Candidate:
    return Candidate(_id(row), _id(thread) if thread else None, first=first, manual=manual)


def _rows(sql: str, *params: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def _id(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def _sql_id(value: UUID) -> Any:
    return Delivery._meta.pk.get_db_prep_value(value, connection)


def _sql_moment(moment: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(moment)


def _moment(value: datetime | str | None) -> datetime | None:
    if isinstance(value, str):  # SQLite's
        value = datetime.fromisoformat(value)
    return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value
