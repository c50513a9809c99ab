"""Answer short requests on the thread that takes requests from the network.

Handing a request to another thread takes about as long as answering a short request. However, while
the thread that takes requests answers a request, all later requests wait. Therefore, if a request
would keep that thread waiting for too long, MustWait is raised, and the request is restarted in
another thread.

With PostgreSQL or Redis, the thread that takes requests handles only reads. Once a write has begun,
it must not be restarted in another thread, so a slow database server could make the thread that
takes requests wait for a long time.
"""

import threading
import time
from typing import Any

LONGEST = 0.05  # seconds for which a request may keep the thread waiting
# If a request takes longer than LONGEST, other threads answer all requests for PAUSE seconds. If
# the first request after a pause is also too slow, the next pause is twice as long, up to
# LONGEST_PAUSE. This limits the extra load on the database, which keeps running an abandoned
# statement while another thread repeats it.
PAUSE, LONGEST_PAUSE = 1.0, 32.0


class MustWait(BaseException):
    """Raised on the thread that takes requests if a request would have to wait.

    It is not an Exception, so that no `except Exception` catches it before the web server does.
    """


class Inline:
    """Decides when the thread that takes requests may answer a request, and how long it may wait.

    That thread never connects to PostgreSQL, because connecting can take a long time. It uses a
    connection that another thread no longer needs.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.paused_until = self.until = 0.0  # on the monotonic clock
        self.thread: int | None = None  # id of the thread that takes requests
        self.pause = PAUSE
        self.wanted = False  # whether the thread that takes requests needs a connection
        self.spare: Any = None  # the psycopg connection on offer, if any

    def begin(self) -> float:
        """Begin a request on the thread that takes requests, and return its start time.

        Raises MustWait during a pause. The request's database and cache calls may wait until
        LONGEST seconds after the start. If they would have to wait longer, they raise MustWait.
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
        """Let the request finish on this thread without a time limit.

        Call this before the request writes. If the request were restarted in another thread after a
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

        Returns False if that thread does not need a connection.
        """
        if not self.wanted:  # most calls end here, without taking the lock
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
