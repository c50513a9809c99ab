"""Decide whether an error means that the database is unavailable, and recover from it."""

import sqlite3
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from psycopg.errors import ReadOnlySqlTransaction

from config.database.postgresql.outage import DOWN, outage, reason

DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_threads = ThreadPoolExecutor(1, thread_name_prefix="database-probe")
_probe: "Future[None] | None" = None


def unavailable(error: BaseException) -> bool:
    """Return whether an error means that the database cannot be used at the moment.

    This is the case if the server is down, has no free connection, accepts no writes or has a full
    disk; if SQLite's file cannot be opened, read or written; and if a lock was not free in time.
    The caller may try again later.
    """
    cause = error.__cause__
    if isinstance(cause, ReadOnlySqlTransaction):  # Django raises InternalError for it
        return True
    # SQLite reports mistakes in a statement with the same class, but with a result code of its own.
    mistake = getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
    return isinstance(error, OperationalError) and not mistake


def discard_dead_connections(error: BaseException) -> None:
    """Replace the pool's connections that no longer work, after an error that `unavailable` knows.

    Call this after a request has failed, so that the next requests do not fail, too. It replaces
    a health check before each request.
    """
    pool = getattr(connections[DEFAULT_DB_ALIAS], "pool", None)
    if pool is None:
        return
    if isinstance(error.__cause__, ReadOnlySqlTransaction):
        pool.drain()  # after a failover, new connections reach the new primary
    elif pool.get_stats()["pool_available"]:  # otherwise, all connections are in use
        pool.check()


def responds(within: float) -> bool:
    """Return whether PostgreSQL accepts a new connection within a number of seconds.

    SQLite always responds.
    """
    global _probe
    database: Any = connections[DEFAULT_DB_ALIAS]
    if database.vendor == "sqlite":
        return True
    if _probe is None or _probe.done():
        _probe = _threads.submit(outage.connect, database.get_connection_params())
    try:
        return _probe.exception(within) is None
    except TimeoutError:
        return False


def outage_in_words(error: BaseException) -> str:
    """Return a one-line reason why the database cannot be used, or "" for other errors.

    The line contains neither a password nor the database's URL.
    """
    damaged = getattr(error.__cause__, "sqlite_errorcode", None) in DAMAGED
    return f"{DOWN}: {reason(error)}" if damaged or unavailable(error) else ""
