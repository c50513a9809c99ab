"""Whether the database answers this process, so that no request waits for one that is away."""

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

ASK_AGAIN = 0.5  # seconds between two attempts while the database is away
ATTEMPT = 2  # seconds for one attempt; psycopg takes no less
FULL = ("too many clients", "too many connections", "remaining connection slots")

logger = logging.getLogger(__name__)


class Outage:
    """The time in which the database does not answer.

    A request that gets no connection cannot tell a busy pool from a database that is away. It
    calls `find_out`: a thread connects on its own, and tries again until the outage is over. During
    an outage requests fail at once. Only web processes do so; a worker has the time to wait.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.watched = self.under_way = False
        self.verdict: threading.Event | None = None  # of the attempt that is being made
        self.lent: WeakSet[psycopg.Connection[Any]] = WeakSet()

    def watch(self, connection: psycopg.Connection[Any]) -> None:
        """Remember a connection that a request uses, so that an outage ends its wait, too."""
        with self.lock:
            self.lent.add(connection)

    def check(self) -> None:
        """Raise OperationalError during an outage."""
        if self.under_way:
            raise OperationalError("the database does not answer")

    def find_out(self, parameters: dict[str, Any], *, within: float) -> None:
        """Raise OperationalError unless the database accepts a connection in so many seconds."""
        with self.lock:
            if (verdict := self.verdict) is None:
                verdict = threading.Event()
                given = (parameters | {"connect_timeout": ATTEMPT}, verdict)
                threading.Thread(target=self.ask, args=given, daemon=True).start()
                self.verdict = verdict
        if not verdict.wait(within):
            raise OperationalError(f"the database did not answer within {within:g} s")
        self.check()

    def ask(self, parameters: dict[str, Any], verdict: threading.Event) -> None:
        """Attempt to connect, until it succeeds; the first attempt gives the verdict."""
        while error := failure(parameters):
            if self.under_way:
                self.interrupt()
            else:
                logger.error("the database does not answer (%s)", type(error).__name__)
                self.under_way = True
            verdict.set()
            time.sleep(ASK_AGAIN)
        if self.under_way:
            logger.warning("the database answers again")
        with self.lock:
            self.under_way, self.verdict = False, None
        verdict.set()

    def interrupt(self) -> None:
        """End the connections in use: a server that is silent would keep their requests."""
        with self.lock:
            connections = list(self.lent)
            self.lent.clear()
        for connection in connections:
            with (
                suppress(OperationalError, OSError),  # it has ended already
                socket.socket(fileno=os.dup(connection.pgconn.socket)) as shared,
            ):
                shared.shutdown(socket.SHUT_RDWR)


def failure(parameters: dict[str, Any]) -> Exception | None:
    """Connect once; return the error of a database that is away, not of one that is full."""
    try:
        psycopg.connect(**parameters).close()
    except (psycopg.Error, OSError) as error:
        return None if any(text in str(error) for text in FULL) else error
    return None


outage = Outage()


def unreachable(error: BaseException | None) -> bool:
    """Say whether Django's error means that PostgreSQL is away, or that no connection is free."""
    cause = error.__cause__ if isinstance(error, DatabaseError) else None
    state = getattr(cause, "sqlstate", None) or "08"  # connection exceptions
    return isinstance(cause, OperationalError) and state.startswith(("08", "57P"))
