"""Let only a few requests run Python at a time.

The interpreter runs one thread at a time, so more threads would only compete for it and for the
connection pool: with 250 replies in flight, reads got a 503. A request leaves the gate while it
waits for a model or any network peer except the database and Redis, and a streamed response leaves
it between its pieces.

Reads and writes have gates of their own, so that no read waits for the disk or for a lock that a
write waits for. No request waits long: while the database is silent, the requests that wait for it
hold all places, and those behind them get a 503.

Only web requests enter a gate. In other processes and threads, `waiting` only gives the connection
back.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from django.conf import settings

from config.api.errors import Unavailable
from config.database.connections import release_connection

PLACES = 2 if settings.EMBEDDED else 3  # twice this is less than the size of the connection pool
PATIENCE = 10.0  # maximum number of seconds to wait for a place
READS = ("GET", "HEAD")

_current = threading.local()  # its attribute `gate` is the gate that the thread is inside, or None


class Gate:
    """A number of places, of which each thread takes at most one.

    The places are in a queue, because a semaphore is slow when many threads wait for it.
    """

    def __init__(self, places: int) -> None:
        self.free: SimpleQueue[None] = SimpleQueue()
        for _ in range(places):
            self.free.put(None)

    @contextmanager
    def inside(self, *, within: float | None = PATIENCE) -> Iterator[None]:
        """Wait for a place and hold it. Raises Unavailable."""
        self.enter(within=within)
        try:
            yield
        finally:
            self.leave()

    def enter(self, *, within: float | None = PATIENCE) -> None:
        """Wait for a place and take it. Raises Unavailable if none is free `within` seconds."""
        try:
            self.free.get(timeout=within)
        except Empty:
            raise Unavailable from None
        _current.gate = self

    def leave(self) -> None:
        """Give up the current thread's place, if it has one."""
        if current():
            _current.gate = None
            self.free.put(None)


reads, writes = Gate(PLACES), Gate(PLACES)


def current() -> Gate | None:
    """Return the gate in which the current thread has a place, if any."""
    return getattr(_current, "gate", None)


def gate_for(method: str) -> Gate:
    """Return the gate for requests with an HTTP method."""
    return reads if method in READS else writes


@contextmanager
def waiting() -> Iterator[None]:
    """Wait for a network peer or another process inside this context, or compute without Python.

    Other requests use the current thread's database connection and its place in the meantime. Must
    not be used inside a transaction, because its connection could not be released. Raises
    Unavailable at the end if no place becomes free.
    """
    release_connection()
    gate = current()
    if gate is None:
        yield
        return
    gate.leave()
    try:
        yield
    finally:
        gate.enter()
