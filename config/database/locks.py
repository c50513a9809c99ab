"""Handle rows that another PostgreSQL session has locked. Only work that needs such a row waits.

    unlocked          lets claims and deletions skip locked rows
    update_at_once    updates only those rows that can be locked without waiting
    left_if_locked    postpones work on an item whose row stays locked
    insist            retries a write, on a new connection, for a while

SQLite has no row locks.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from typing import Any, TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connection, transaction
from django.db.models import QuerySet
from psycopg.errors import DeadlockDetected, LockNotAvailable

from config.database.availability import discard_dead_connections, unavailable
from config.stop_signal import worker_is_stopping

WORKER_LOCK_TIMEOUT = "300ms"
# A web process has few connections. If requests waited longer for locked rows, they could hold all
# the connections, and every other request would have to wait for one.
WEB_LOCK_TIMEOUT = "1s"
BATCH = 1_000
LOCKED = "database is locked"  # the message of SQLite's error
PAUSES = (0.1, 0.3, 1.0, 2.0)  # seconds between attempts to write; the last pause is repeated

# Errors that a retry may resolve. Writing to a read-only database raises InternalError.
TEMPORARY = (OperationalError, InterfaceError, InternalError)

# Any: the queryset may be of any model and return rows of any type
Rows = TypeVar("Rows", bound="QuerySet[Any, Any]")
Answer = TypeVar("Answer")

logger = logging.getLogger(__name__)


def is_lock_timeout(error: BaseException) -> bool:
    """Return whether a statement timed out waiting for a locked row or SQLite's write lock.

    A deadlock counts too. PostgreSQL reports a deadlock instead of a lock timeout if the lock
    timeout is not set or is longer than `deadlock_timeout`.
    """
    if isinstance(error.__cause__, (LockNotAvailable, DeadlockDetected)):
        return True
    return isinstance(error, OperationalError) and str(error) == LOCKED


def unlocked(rows: Rows) -> Rows:
    """Select the rows that no other session has locked, and lock them until the transaction ends.

    If the queryset joins other tables, do not use `values()` with it: Django would ignore `of`
    and lock the joined rows, too.
    """
    kept: Rows = rows.select_for_update(skip_locked=True, of=("self",))
    return kept


def unlocked_keys(rows: "QuerySet[Any]") -> list[Any]:
    """Lock the rows that `unlocked` selects, and return their primary keys."""
    return [row.pk for row in unlocked(rows).only("pk")]


def update_unlocked(rows: "QuerySet[Any]", **values: Any) -> int:
    """Update the rows that no other session has locked. Returns the number of updated rows."""
    with transaction.atomic():
        # One statement, so that a slow connection does not hold the locks between two.
        free = unlocked(rows).values("pk")
        same: QuerySet[Any] = rows.model._base_manager.filter(pk__in=free)
        return same.update(**values)


def update_at_once(rows: "QuerySet[Any]", **values: Any) -> int:
    """Update the rows that no other writer has locked, without waiting. Returns their number."""
    if connection.vendor == "postgresql":
        return update_unlocked(rows, **values)
    usual = connection.settings_dict["OPTIONS"]["timeout"]
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            return rows.update(**values)
        except OperationalError as error:
            if not is_lock_timeout(error):
                raise
            return 0
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual * 1000:.0f}")


def delete_unlocked(rows: "QuerySet[Any]") -> Iterator[int]:
    """Delete the rows that are not locked, in batches. Yields the size of each batch."""
    while True:
        with transaction.atomic():
            keys = unlocked_keys(rows[:BATCH])
            rows.model._base_manager.filter(pk__in=keys).delete()
        if not keys:
            return
        yield len(keys)


@contextmanager
def left_if_locked(what: str) -> Iterator[None]:
    """End the block early if a statement times out waiting for a lock. The caller retries later."""
    try:
        yield
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
        logger.warning(
            "%s is postponed: it needs a lock that another session holds",
            what,
        )


def insist(write: Callable[[], Answer], *, within: float, what: str) -> Answer:
    """Retry a write while its row is locked or the database does not respond.

    The write is retried for `within` seconds. During an outage, when no other process can take over
    the work, it is retried even longer, until the worker is asked to stop.
    """
    until = time.monotonic() + within
    waiting, pauses = threading.Event(), chain(PAUSES, repeat(PAUSES[-1]))
    while True:
        try:
            return write()
        except TEMPORARY as error:
            connection.close()
            discard_dead_connections(error)
            pause = next(pauses)
            taken_over = is_lock_timeout(error) or not unavailable(error)
            if time.monotonic() + pause > until and (taken_over or worker_is_stopping()):
                raise
            logger.warning("%s is not settled yet: %s", what, error)
            waiting.wait(pause)
