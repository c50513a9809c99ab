"""Make requests fail immediately while PostgreSQL is down.

Without this module, every request of an outage would wait for the pool's timeout. With it, only the
first ones do. After that, one request a second tries to connect, and the others fail within 2 ms.
"""

import logging
import threading
import time
from typing import Any

import psycopg

ASK_AGAIN = 1.0  # seconds between attempts to connect during an outage
ATTEMPT = 2  # timeout of each attempt, in seconds (psycopg's minimum)
FULL = ("too many clients", "too many connections", "remaining connection slots")
DOWN = "the database does not respond"

logger = logging.getLogger(__name__)


class Outage:
    """Tracks whether the database is down.

    A thread that gets no connection from the pool calls `find_out`, because the pool does not say
    why it has no connection. An outage begins when `find_out` fails.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.under_way = False
        self.next_at = 0.0  # monotonic time of the next attempt to connect

    def find_out(self, parameters: dict[str, Any]) -> None:
        """Try to connect without the pool. Raises psycopg.OperationalError with the reason.

        During an outage, raises the error immediately if another thread has tried to connect within
        the last second.
        """
        if not self.lock.acquire(blocking=not self.under_way):
            raise psycopg.OperationalError(DOWN)
        try:
            if self.under_way and time.monotonic() < self.next_at:
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
            if not self.under_way:
                logger.error("%s: %s", DOWN, reason(error))
            self.under_way, self.next_at = True, time.monotonic() + ASK_AGAIN
            raise
        if self.under_way:
            self.under_way = False
            logger.warning("the database responds again")


def reason(error: BaseException) -> str:
    """Return an error's message as one line. Psycopg's error messages contain no passwords."""
    return " ".join(str(error).split())


outage = Outage()
