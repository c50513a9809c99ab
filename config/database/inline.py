"""Answer short reads on the event loop's own thread.

Handing a request to a thread and back costs as much as answering a short read. But while its thread
answers a request, the event loop receives nothing. So a request must not wait there: instead, it
raises MustWait, and a thread answers it from the start.
"""

import threading
import time
from typing import Any

LONGEST = 0.05  # seconds after its start from which a request no longer waits here
# Seconds for which threads answer all reads after one took longer than LONGEST here. The pause
# doubles while each first read after a pause takes too long, because its statement keeps running on
# the server, in addition to the thread's.
PAUSE, LONGEST_PAUSE = 1.0, 32.0


class MustWait(BaseException):
    """Raised on the event loop's thread instead of waiting.

    It is not an Exception, because only the web server may handle it.
    """


class Inline:
    """Decides whether the event loop's thread may answer a read.

    That thread never connects to PostgreSQL, because connecting can take long. It uses a connection
    that another thread no longer needs.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.paused_until = self.until = 0.0  # on the monotonic clock
        self.thread: int | None = None  # the event loop's
        self.pause = PAUSE
        self.wanted = False  # the event loop's thread needs a connection
        self.spare: Any = None  # a connection of psycopg

    def begin(self) -> float:
        """Begin a request on the event loop's thread. Returns the time. Raises MustWait in a pause.

        After LONGEST, anything that the request would wait for raises MustWait.
        """
        now = time.monotonic()
        if now < self.paused_until:
            raise MustWait
        self.thread, self.until = threading.get_ident(), now + LONGEST
        return now

    def left(self) -> float | None:
        """Return how many seconds this thread may still wait, or None if it has no such limit."""
        if threading.get_ident() != self.thread:
            return None
        return max(0.0, self.until - time.monotonic())

    def note(self, seconds: float) -> None:
        """Begin a pause if a request took too long: the database may be slow, or the response big.

        So a slow database or a caller with many rows delays other requests once a second at most.
        """
        if seconds <= LONGEST:
            self.pause = PAUSE
        else:
            self.paused_until = time.monotonic() + self.pause
            self.pause = min(2 * self.pause, LONGEST_PAUSE)

    def offer(self, spare: Any) -> bool:
        """Leave a working connection for the event loop's thread. Returns False if it has one."""
        if not self.wanted:  # spares most threads the lock
            return False
        with self.lock:
            accepted, self.wanted = self.wanted, False
            if accepted:
                self.spare = spare
        return accepted

    def take(self) -> Any:
        """Take the connection that a thread has left. Raises MustWait if there is none yet."""
        with self.lock:
            taken, self.spare = self.spare, None
            self.wanted = taken is None
        if taken is None:
            raise MustWait
        return taken


inline = Inline()
