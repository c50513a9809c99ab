"""Know whether the database can be used, make requests fail quickly while it cannot, and recover.

`unavailable`               tells whether an error means that the database cannot be used
`server`                    knows whether PostgreSQL is down
`discard_dead_connections`  replaces the pool's connections after a failure

The PostgreSQL backend asks `server` before it takes a connection from the pool. The first requests
of an outage wait for the pool's timeout. After that, one request a second tries to connect, and the
others fail within 2 ms.
"""

import logging
import sqlite3
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from psycopg.errors import ReadOnlySqlTransaction

ASK_AGAIN = 1.0  # seconds between attempts to connect during an outage
ATTEMPT = 2  # timeout of each attempt, in seconds (psycopg's minimum)
FULL = ("too many clients", "too many connections", "remaining connection slots")
DOWN = "the database does not respond"
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

logger = logging.getLogger(__name__)

_threads = ThreadPoolExecutor(1, thread_name_prefix="database-probe")
_probe: "Future[None] | None" = None


class Server:
    """Knows whether the PostgreSQL server is down.

    A thread that gets no connection from the pool calls `check`, because the pool does not say why
    it has no connection. An outage begins when `check` fails.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_down = False
        self.next_at = 0.0  # monotonic time of the next attempt to connect

    def check(self, parameters: dict[str, Any]) -> None:
        """Try to connect without the pool. Raises psycopg.OperationalError with the reason.

        During an outage, raises the error immediately if another thread is trying to connect, or
        has tried within the last second.
        """
        if not self.lock.acquire(blocking=not self.is_down):
            raise psycopg.OperationalError(DOWN)
        try:
            if self.is_down and time.monotonic() < self.next_at:
                raise psycopg.OperationalError(DOWN)
            self.connect(parameters)
        finally:
            self.lock.release()

    def connect(self, parameters: dict[str, Any]) -> None:
        """Try to connect for up to two seconds, and record the result.

        Raises psycopg.OperationalError.
        """
        try:
            psycopg.connect(**parameters | {"connect_timeout": ATTEMPT}).close()
        except psycopg.OperationalError as error:
            if any(text in str(error) for text in FULL):
                raise  # the pool's own connections still work
            if not self.is_down:
                logger.error("%s: %s", DOWN, reason(error))
            self.is_down, self.next_at = True, time.monotonic() + ASK_AGAIN
            raise
        if self.is_down:
            self.is_down = False
            logger.warning("the database responds again")


server = Server()


def reason(error: BaseException) -> str:
    """Return an error's message as one line. Psycopg's error messages contain no passwords."""
    return " ".join(str(error).split())


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


def is_temporary(error: BaseException) -> bool:
    """Return whether a request failed because the database is unavailable.

    If so, logs the reason, except during an outage, whose beginning has been logged. Also replaces
    dead connections, so that the next request succeeds.
    """
    if not unavailable(error):
        return False
    if not server.is_down:
        logger.warning("a request failed: %s", reason(error))
    discard_dead_connections(error)
    return True


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
        _probe = _threads.submit(server.connect, database.get_connection_params())
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
