"""Answer short requests on the thread that takes requests from the network.

Handing a request to another thread costs about as much as answering a short one. But while the
thread that takes requests answers one, all later requests wait. So a request must not wait on that
thread. It raises MustWait instead, and starts again in another thread.

With PostgreSQL or Redis, that thread answers only reads. A write, once begun, must not start again
in another thread, so it could keep the thread waiting for the database server for a long time.
"""

import threading
import time
from typing import Any

LONGEST = 0.05  # seconds for which a request may keep the thread waiting
# If a request takes longer than LONGEST, other threads answer all requests for PAUSE seconds. If
# the first request after a pause is too slow again, the next pause is twice as long (up to
# LONGEST_PAUSE), because the database keeps running the abandoned statement while another thread
# repeats it.
PAUSE, LONGEST_PAUSE = 1.0, 32.0


class MustWait(BaseException):
    """Raised on the thread that takes requests, when a request would have to wait.

    It is not an Exception, so that no `except Exception` catches it before the web server does.
    """


class Inline:
    """Decides when the thread that takes requests may answer one, and how long it may wait.

    That thread never connects to PostgreSQL, because connecting can take a long time. It uses a
    connection that another thread no longer needs.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.paused_until = self.until = 0.0  # on the monotonic clock
        self.thread: int | None = None  # id of the thread that takes requests
        self.pause = PAUSE
        self.wanted = False  # the thread that takes requests needs a connection
        self.spare: Any = None  # a psycopg connection

    def begin(self) -> float:
        """Begin a request on the thread that takes requests, and return its start time.

        Raises MustWait during a pause. The request's database and cache calls also raise MustWait
        rather than wait beyond the first LONGEST seconds.
        """
        now = time.monotonic()
        if now < self.paused_until:
            raise MustWait
        self.thread, self.until = threading.get_ident(), now + LONGEST
        return now

    def left(self) -> float | None:
        """Return how many seconds this thread may still wait, or None if it has no limit."""
        if threading.get_ident() != self.thread:
            return None
        return max(0.0, self.until - time.monotonic())

    def proceed(self) -> None:
        """Let the request finish on this thread, where it may now wait as long as on any other.

        Call this before the request writes. If it were started again in another thread after a
        write, it would write twice.
        """
        self.thread = None

    def note(self, seconds: float) -> None:
        """Begin a pause if a request took longer than LONGEST.

        A slow database or a large response therefore delays other requests at most once a second.
        """
        if seconds <= LONGEST:
            self.pause = PAUSE
        else:
            self.paused_until = time.monotonic() + self.pause
            self.pause = min(2 * self.pause, LONGEST_PAUSE)

    def offer(self, spare: Any) -> bool:
        """Offer a working connection to the thread that takes requests.

        Returns False if it needs none.
        """
        if not self.wanted:  # most calls end here, without the lock
            return False
        with self.lock:
            accepted, self.wanted = self.wanted, False
            if accepted:
                self.spare = spare
        return accepted

    def take(self) -> Any:
        """Take the connection that another thread offered. Raises MustWait if there is none."""
        with self.lock:
            taken, self.spare = self.spare, None
            self.wanted = taken is None
        if taken is None:
            raise MustWait
        return taken


inline = Inline()
