"""Rows that another PostgreSQL session keeps locked: only what needs such a row waits.

    limit_waits       a process's connections give up waiting for a lock after a given time
    update_at_once    a row is updated only if that takes no waiting
    unlocked          claims and deletions leave locked rows out
    left_if_locked    work on an item whose row stays locked is left for later
    insist            a result is written again until it is recorded, on a new connection

SQLite has no row locks.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain, repeat
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL
from psycopg.errors import LockNotAvailable

from config.stopping import worker_is_stopping

WORKER_LOCK_TIMEOUT = "300ms"
# A web process has few connections. If requests waited longer for a locked row, all others would
# wait for a connection.
WEB_LOCK_TIMEOUT = "1s"
BATCH = 1_000
PAUSES = (0.1, 0.3, 1.0, 2.0)  # seconds between tries to write; the last one repeats

# Any: the columns of a model
Rows = TypeVar("Rows", bound="QuerySet[Any, Any]")
Answer = TypeVar("Answer")

logger = logging.getLogger(__name__)


def limit_waits(timeout: str) -> None:
    """Give up waiting for a lock after a time, on all later connections of this process.

    `timeout` is in PostgreSQL's notation.
    """
    database: Any = connection  # Any: the stubs lack the pool
    if database.vendor == "postgresql":
        options = database.settings_dict["OPTIONS"]
        options["options"] = f"-c lock_timeout={timeout} {options['options']}"
        database.close()
        database.close_pool()


def is_lock_timeout(error: BaseException) -> bool:
    """Return whether a statement gave up waiting for a row that another session has locked.

    On SQLite it gave up waiting for the write lock.
    """
    locked = isinstance(error, OperationalError) and str(error) == "database is locked"
    return locked or isinstance(error.__cause__, LockNotAvailable)


def locking() -> AbstractContextManager[object]:
    """Return a transaction for `unlocked`; on SQLite none, because it would block all writers."""
    return transaction.atomic() if connection.vendor == "postgresql" else nullcontext()


def unlocked(rows: Rows) -> Rows:
    """Keep the rows that no other session has locked, and lock them until the transaction ends.

    A queryset that joins other tables must be read as instances: Django forgets `of` for values,
    and would lock the other rows, too.
    """
    kept: Rows = rows.select_for_update(skip_locked=True, of=("self",))
    return kept


def unlocked_keys(rows: "QuerySet[Any]") -> list[Any]:
    """Return the primary keys of rows as `unlocked` does."""
    return [row.pk for row in unlocked(rows).only("pk")]


def update_unlocked(rows: "QuerySet[Any]", **values: Any) -> int:
    """Update the rows that no other session has locked. Returns their number."""
    if connection.vendor != "postgresql":
        return rows.update(**values)
    with transaction.atomic():
        same: QuerySet[Any] = rows.model._base_manager.filter(pk__in=unlocked_keys(rows))
        return same.update(**values)


def update_at_once(rows: "QuerySet[Any]", **values: Any) -> int:
    """Update the rows for which this need not wait for another writer. Returns their number."""
    database: Any = connection  # Any: the stubs lack what ours adds
    if database.vendor == "postgresql":
        # one statement: Django allows select_for_update() only in a transaction of several
        sql, params = rows.order_by().values("pk").query.sql_with_params()
        free = RawSQL(f"{sql} FOR UPDATE SKIP LOCKED", params)  # noqa: S611 - Django's own SQL
        same: QuerySet[Any] = rows.model._base_manager.filter(pk__in=free)
        return same.update(**values)
    try:
        with database.writing(timeout=0):
            return rows.update(**values)
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
        return 0


def delete_unlocked(rows: "QuerySet[Any]") -> Iterator[int]:
    """Delete rows in batches, except those that are locked. Yields the size of each batch."""
    while True:
        with locking():
            keys = unlocked_keys(rows[:BATCH])
            rows.model._base_manager.filter(pk__in=keys).delete()
        if not keys:
            return
        yield len(keys)


@contextmanager
def left_if_locked(what: str) -> Iterator[None]:
    """End the block if it needs a row that stays locked. The caller tries again later."""
    try:
        yield
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
        logger.warning(
            "%s waits for a row that another session has locked", what, extra={"bounded": True}
        )


def insist(
    write: Callable[[], Answer], *, until: float, what: str, while_stopping: bool = False
) -> Answer:
    """Try a write again while its row is locked or the database does not answer.

    `until` is on the monotonic clock; then, or once the worker was asked to stop, the error is
    raised. `while_stopping` is for claims that end before a stopping worker must have ended.
    """
    waiting, pauses = threading.Event(), chain(PAUSES, repeat(PAUSES[-1]))
    while True:
        try:
            return write()
        except (OperationalError, InterfaceError) as error:
            connection.close()
            pause = next(pauses)
            if time.monotonic() + pause > until or (worker_is_stopping() and not while_stopping):
                raise
            logger.warning("%s is not settled yet: %s", what, error)
            waiting.wait(pause)
