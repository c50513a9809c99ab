"""Detect dead workers. Each worker holds a lock that is released when the worker dies.

With PostgreSQL, the lock is a session-level advisory lock on a dedicated connection. In a
machine-bound installation (without PostgreSQL or without Redis), it is a lock on a file, which also
prevents a second worker from starting. With PostgreSQL but without Redis, a worker holds both
locks.
"""

import secrets
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Protocol

import psycopg
from django.conf import settings
from django.db import connection

from config.database.postgresql.outage import outage
from config.runtime.state import is_locked, locked

ME = str(secrets.randbelow(2**31 - 2) + 1)  # identifies this process; fits PostgreSQL's int4 keys
# A worker declares other workers dead only after it has held its own lock for this many seconds,
# because they may not have taken their own locks yet. The second value applies once a connection
# has been lost: after a restart of the database, a worker that is suspended or short of CPU time
# may need several seconds to take its lock again.
PATIENCE, PATIENCE_AFTER_LOSS = 2.0, 6.0
NAMESPACE = 0x77656268  # the first key of our advisory locks
HELD = """FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = %s
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


class AnotherWorker(Exception):
    """Raised when a second worker starts in a machine-bound installation, which allows only one."""

    def __init__(self) -> None:
        super().__init__(
            f"another worker is already using {settings.STATE_DIR}: stop it first, or set "
            "DATABASE_URL and REDIS_URL to allow several workers"
        )


class Life(Protocol):
    """A worker's proof that it is alive, and its view of the other workers."""

    def hold(self) -> None:
        """Take the lock, or check that it is still held.

        Raises AnotherWorker or a database error.
        """

    def dead(self, workers: Collection[str]) -> set[str]:
        """Return the members of `workers` that are certainly dead."""


class FileLife:
    """The only worker of an installation. While it holds the lock, every other worker is dead."""

    def __init__(self) -> None:
        # Any: the open lock file, or None until `hold` has locked it
        self.file: Any = None

    def hold(self) -> None:
        """Lock the file. Raises AnotherWorker if another process holds the lock."""
        if self.file:
            return
        try:
            self.file = locked(settings.STATE_DIR / "worker.lock")
        except BlockingIOError:
            raise AnotherWorker from None

    def dead(self, workers: Collection[str]) -> set[str]:
        """Return all workers except this one."""
        return set(workers) - {ME}


class DatabaseLife:
    """One of several workers, identified by an advisory lock in their shared database."""

    def __init__(self) -> None:
        self.own: psycopg.Connection[Any] | None = None
        self.missed: set[str] = set()
        self.since, self.patience = 0.0, PATIENCE

    def hold(self) -> None:
        """Lock this worker's key. Uses a new connection if the old one was lost.

        If the database can no longer be reached, marks it as down, so that nothing else waits for
        it.
        """
        if self.own:
            with suppress(psycopg.Error):
                self.own.execute("SELECT 1")
                return
            self.own.close()
            # other workers may have lost their locks, too
            self.own, self.missed, self.patience = None, set(), PATIENCE_AFTER_LOSS
        parameters = connection.get_connection_params()
        try:
            own = psycopg.connect(**parameters, autocommit=True)
        except psycopg.OperationalError:
            if self.since:  # at startup, the caller logs the reason
                with suppress(psycopg.OperationalError):
                    outage.find_out(parameters)
            raise
        # The lock is shared, because the server may not have noticed yet that our old session is
        # broken. That session's lock must not block this one.
        try:
            own.execute("SELECT pg_advisory_lock_shared(%s, %s)", (NAMESPACE, int(ME)))
        except psycopg.Error:
            own.close()
            raise
        self.own, self.since = own, time.monotonic()

    def dead(self, workers: Collection[str]) -> set[str]:
        """Return the workers whose locks were free in two checks in a row.

        One check is not enough, because after a restart of the database every worker must take its
        lock again.
        """
        others = set(workers) - {ME}
        if not (others and self.own) or time.monotonic() - self.since < self.patience:
            return set()
        rows = self.own.execute(f"SELECT objid::text {HELD}", (NAMESPACE,))
        free = others - {row[0] for row in rows}
        dead, self.missed = free & self.missed, free
        return dead


def living() -> int:
    """Return the number of workers that are alive."""
    if settings.EMBEDDED:
        return int(is_locked(settings.STATE_DIR / "worker.lock"))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(DISTINCT objid) {HELD}", (NAMESPACE,))
        return int(cursor.fetchone()[0])


def lives() -> list[Life]:
    """Return the locks that this worker must hold. Use the last one to find dead workers."""
    file: list[Life] = [FileLife()] if settings.MACHINE_BOUND else []
    database: list[Life] = [] if settings.EMBEDDED else [DatabaseLife()]
    return file + database
