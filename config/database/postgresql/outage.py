"""Detect database outages, so that requests fail immediately instead of after a timeout."""

import logging
import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import psycopg
from django.db import DatabaseError
from psycopg import OperationalError
from psycopg.errors import DiskFull, ReadOnlySqlTransaction

ASK_AGAIN = 0.5  # seconds between attempts to connect while the database is down
ATTEMPT = 2  # timeout of each attempt, in seconds (psycopg's minimum)
FULL = ("too many clients", "too many connections", "remaining connection slots")

logger = logging.getLogger(__name__)


class Outage:
    """Tracks whether the database is down.

    If a request gets no connection from the pool, either the pool is busy or the database is down.
    The request calls `find_out`, which starts a thread that tries to connect until it succeeds.
    During an outage, requests fail immediately. The same applies to a worker's tasks, but a worker
    is `patient`: it waits longer before it treats a slow database as down.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.watched = self.patient = self.under_way = False
        self.verdict: threading.Event | None = None  # set when the first attempt to connect ends
        self.lent: WeakSet[psycopg.Connection[Any]] = WeakSet()

    def watch(self, connection: psycopg.Connection[Any]) -> None:
        """Remember a connection that is in use, so that an outage can interrupt its request."""
        with self.lock:
            self.lent.add(connection)

    def check(self) -> None:
        """Raise OperationalError during an outage."""
        if self.under_way:
            raise OperationalError("the database does not respond")

    def find_out(self, parameters: dict[str, Any], *, within: float) -> None:
        """Find out whether the database is up, and raise OperationalError if it is not.

        Also raises OperationalError if the database's state is still unknown after `within`
        seconds.
        """
        with self.lock:
            if (verdict := self.verdict) is None:
                verdict = threading.Event()
                limit = {} if self.patient else {"connect_timeout": ATTEMPT}
                given = (parameters | limit, verdict)
                try:
                    threading.Thread(target=self.ask, args=given, daemon=True).start()
                except RuntimeError as error:  # the thread could not be started
                    raise OperationalError(str(error)) from error
                self.verdict = verdict
        if not verdict.wait(within):
            raise OperationalError(f"the database did not respond within {within:g} s")
        self.check()

    def ask(self, parameters: dict[str, Any], verdict: threading.Event) -> None:
        """Try to connect until the database is up. Sets `verdict` when the first attempt ends."""
        while (error := failure(parameters)) and not is_full(error):
            if self.under_way:
                self.interrupt()
            else:
                logger.error("the database does not respond: %s", reason(error))
                self.under_way = True
            verdict.set()
            time.sleep(ASK_AGAIN)
        if self.under_way:
            logger.warning("the database answers again")
        with self.lock:
            self.under_way, self.verdict = False, None
        verdict.set()

    def interrupt(self) -> None:
        """Shut down the connections in use, so that their requests stop waiting for the server."""
        with self.lock:
            connections = list(self.lent)
            self.lent.clear()
        for connection in connections:
            with (
                suppress(OperationalError, OSError),  # the connection may be closed already
                socket.socket(fileno=os.dup(connection.pgconn.socket)) as shared,
            ):
                shared.shutdown(socket.SHUT_RDWR)


def reason(error: BaseException) -> str:
    """Return an error's message as one line. Psycopg's error messages contain no passwords."""
    return " ".join(str(error).split())


def failure(parameters: dict[str, Any]) -> Exception | None:
    """Try to connect. Returns the error, or None on success."""
    try:
        psycopg.connect(**parameters).close()
    except (psycopg.Error, OSError) as error:
        return error
    return None


def is_full(error: Exception) -> bool:
    """Return whether an error means that the database is up but accepts no more connections."""
    return any(text in str(error) for text in FULL)


outage = Outage()


def unavailable(error: BaseException | None) -> bool:
    """Return whether a Django error means that PostgreSQL cannot be used at the moment.

    This is the case if PostgreSQL is down, has no free connection, accepts no writes (as on a
    standby) or has a full disk.
    """
    cause = error.__cause__ if isinstance(error, DatabaseError) else None
    if isinstance(cause, (ReadOnlySqlTransaction, DiskFull)):
        return True
    state = getattr(cause, "sqlstate", None) or "08"  # 08: connection exceptions
    return isinstance(cause, OperationalError) and state.startswith(("08", "57P"))
