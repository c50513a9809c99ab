"""Let only a few requests run Python at a time.

The interpreter runs one thread at a time, so more threads would only compete for it. Without the
gate, 250 replies in flight raised the 99th percentile of a read from 20 ms to several seconds, and
emptied the connection pool. A request leaves the gate while it waits for a model or any other
network peer, and a streamed response leaves it between its pieces.

Only web requests enter the gate. In other processes and threads, `waiting` only gives the
connection back.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

from django.conf import settings

from config.database.connections import release_connection

# Must be smaller than the connection pool: probes use connections too, but pass by the gate.
PLACES = 2 if settings.EMBEDDED else 4


class Gate:
    """A number of places. A thread takes at most one of them at a time.

    The places are in a queue, because a semaphore is slow when many threads wait for it.
    """

    def __init__(self, places: int) -> None:
        self.free: SimpleQueue[None] = SimpleQueue()
        self.current = threading.local()
        for _ in range(places):
            self.free.put(None)

    def is_inside(self) -> bool:
        """Return whether the current thread has a place."""
        return getattr(self.current, "inside", False)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Wait for a place and hold it."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Give up the current thread's place, if it has one, and take one again at the end."""
        if not self.is_inside():
            yield
            return
        self.leave()
        try:
            yield
        finally:
            self.enter()

    def enter(self) -> None:
        """Wait for a place and take it."""
        self.free.get()
        self.current.inside = True

    def leave(self) -> None:
        """Give up the current thread's place."""
        self.current.inside = False
        self.free.put(None)


gate = Gate(PLACES)


@contextmanager
def waiting() -> Iterator[None]:
    """Wait for a network peer or another process inside this context, or compute without Python.

    Other requests use the current thread's database connection and its place in the meantime. Must
    not be used inside a transaction, because its connection could not be released.
    """
    release_connection()
    with gate.outside():
        yield
