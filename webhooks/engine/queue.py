"""Who waits and what runs: the reads behind a claim, cheap however long the queue is.

Each statement jumps from one endpoint, or thread, to the next by an index that holds nothing but
what waits; thousands of deliveries to one dead receiver cost what one costs. The conditions are
those of the indexes on Delivery, word for word.
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

THREADS = 64  # looked at for first attempts, of one endpoint at a time
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
SEEMS_SLOW = timedelta(seconds=1)  # an attempt that lasts longer is taken for one that times out
SUSPECT = 2  # interruptions after which a delivery is taken to be what kills workers

# SQLite, which knows nothing of an index's size, is told which one to take.
_TOLD = "INDEXED BY" if settings.EMBEDDED else "--"
FIRST = f"""webhooks_delivery d {_TOLD} delivery_first
WHERE d.state = 'PENDING' AND d.due_at IS NOT NULL AND d.claim IS NULL"""
AGAIN = f"""webhooks_delivery d {_TOLD} delivery_again
WHERE d.state = 'RETRYING' AND d.due_at IS NOT NULL AND d.claim IS NULL"""
ASKED = AGAIN.replace("delivery_again", "delivery_asked").replace("'RETRYING'", "'FAILED'")
DUE = f"""webhooks_delivery d {_TOLD} delivery_due
WHERE NOT (d.state = 'PENDING') AND d.due_at IS NOT NULL AND d.claim IS NULL"""

# In an index's order: whatever PostgreSQL believes of how much waits, it reads no more than one.
GLANCE = f"""
SELECT (SELECT d.chatbot_id FROM {FIRST} ORDER BY d.chatbot_id LIMIT 1) IS NOT NULL,
       (SELECT d.due_at FROM {DUE} ORDER BY d.due_at, d.id LIMIT 1),
       (SELECT d.id FROM webhooks_delivery d ORDER BY d.created_at DESC, d.id DESC LIMIT 1)
"""  # noqa: S608 - our own words alone, here and below

# A recursive query's name and one of the three parts of what waits, by endpoint
_ENDPOINTS = """{name}(chatbot_id) AS (
    SELECT (SELECT d.chatbot_id FROM {part} ORDER BY d.chatbot_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.chatbot_id FROM {part}
            AND d.chatbot_id > {name}.chatbot_id ORDER BY d.chatbot_id LIMIT 1)
    FROM {name} WHERE {name}.chatbot_id IS NOT NULL
)"""
_ARE_DUE = """SELECT chatbot_id, {number} FROM {name} WHERE %s >= (
        SELECT d.due_at FROM {part} AND d.chatbot_id = {name}.chatbot_id
        ORDER BY d.due_at, d.id LIMIT 1)"""
WAITING = f"""
WITH RECURSIVE {_ENDPOINTS.format(name="first", part=FIRST)},
{_ENDPOINTS.format(name="again", part=AGAIN)},
{_ENDPOINTS.format(name="asked", part=ASKED)}, due(chatbot_id, part) AS (
    SELECT chatbot_id, 1 FROM first
    UNION ALL
    {_ARE_DUE.format(name="again", part=AGAIN, number=2)}
    UNION ALL
    {_ARE_DUE.format(name="asked", part=ASKED, number=4)}
), parts(chatbot_id, them) AS (SELECT chatbot_id, SUM(part) FROM due GROUP BY chatbot_id)
SELECT c.id, c.account_id, e.timed_out, parts.them
FROM parts JOIN chatbots_chatbot c ON c.id = parts.chatbot_id
LEFT JOIN webhooks_endpoint e ON e.chatbot_id = c.id
"""  # noqa: S608

_LATER = """
SELECT d.id, d.thread_id FROM {part} AND d.chatbot_id = %s AND d.due_at <= %s
ORDER BY d.due_at, d.id LIMIT %s
"""
RETRIES, BY_HAND = _LATER.format(part=AGAIN), _LATER.format(part=ASKED)

# The oldest of each thread, and those that belong to no thread.
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
) alone
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
    """Read the one clock that due times are made and compared by: the database's.

    Embedded, that is this machine's.
    """
    if connection.vendor != "postgresql":
        return timezone.now()
    [[moment]] = _rows("SELECT clock_timestamp()")
    assert isinstance(moment, datetime)
    return moment


def keep_to_indexes() -> None:
    """Forbid PostgreSQL, until the transaction ends, to read the whole log.

    Its figures on what is claimed, or waits, are always late; it may take a handful for a tenth.
    """
    if connection.vendor == "postgresql":
        _rows("SELECT set_config('enable_seqscan', 'off', true)")


def glance() -> tuple[datetime | None, UUID | None]:
    """Say when the next attempt is due, None when nothing waits, and which delivery is the newest.

    First attempts are always due: LONG_AGO.
    """
    [[first, later, newest]] = _rows(GLANCE)
    return LONG_AGO if first else _moment(later), _id(newest) if newest else None


def running(worker: str, moment: datetime, *, start: timedelta, lease: timedelta) -> list[Running]:
    """Read what is claimed, by whomever.

    `start` and `lease` are the lengths of a claim before and after an attempt has begun.
    """
    rows = Delivery.objects.filter(claim__isnull=False).values_list(*_OF_RUNNING)
    return [
        Running(
            chatbot_id,
            account_id,
            thread_id,
            mine=claimed_by == worker,
            slow=bool(timed_out) or start < _left(until, moment) < lease - SEEMS_SLOW,
            by_hand=state == State.FAILED,
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
    """Read which endpoints have something due."""
    due = _sql_moment(moment)
    return [
        Waiting(
            _id(chatbot),
            _id(account),
            slow=bool(timed_out),
            first=bool(parts & 1),
            again=bool(parts & 2),
            by_hand=bool(parts & 4),
        )
        for chatbot, account, timed_out, parts in _rows(WAITING, due, due)
    ]


def candidates(of: Waiting, count: int, *, moment: datetime, suspects: bool) -> list[Candidate]:
    """Read an endpoint's due deliveries: retries by time, then the heads of threads by age.

    Those that were asked for by hand come last: there may be many, and nobody waits for them.
    Without `suspects`, what may be killing workers stays out.
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
        oldest = count + PER_ENDPOINT  # some may wait for another one of their thread
        heads = _rows(HEADS, chatbot, chatbot, chatbot, THREADS, oldest, chatbot, count)
        first = [_candidate(*row, first=True) for row in heads]
        found += sorted(first, key=lambda one: one.delivery_id)
    if of.by_hand and len(found) < count:
        found += [_candidate(*row, by_hand=True) for row in _rows(BY_HAND, chatbot, due, count)]
    return found


def suspects_of(delivery_ids: Iterable[UUID]) -> list[UUID]:
    """Say which of these were under way when workers died, again and again; the oldest first."""
    rows = Delivery.objects.filter(pk__in=delivery_ids, interruptions__gte=SUSPECT).order_by("pk")
    return list(rows.values_list("pk", flat=True))


def _left(until: datetime | None, moment: datetime) -> timedelta:
    return until - moment if until else timedelta(0)


# Any below: what a database driver takes and gives
def _candidate(row: Any, thread: Any, *, first: bool = False, by_hand: bool = False) -> Candidate:
    return Candidate(_id(row), _id(thread) if thread else None, first=first, by_hand=by_hand)


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


def _moment(value: datetime | None) -> datetime | None:
    return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value
