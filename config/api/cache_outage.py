"""Go on without the cache while it is down, so that an outage does not take the service down."""

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings

from config.metrics import Counter, Gauge

if settings.REDIS_URL:
    import redis  # a large library, loaded only if Redis is used

    CACHE_ERRORS: tuple[type[Exception], ...] = (redis.RedisError, OSError)
else:
    CACHE_ERRORS = (OSError,)

PAUSE = 1.0  # seconds between attempts to reach a cache that is down
Result = TypeVar("Result")

CACHE_OUTAGES = Counter(
    "chatbots_cache_outages", "Number of times that the cache became unavailable"
)
CACHE_UP = Gauge(
    "chatbots_cache_up", "1 if the cache is available, otherwise 0", multiprocess_mode="livemin"
)
CACHE_UP.set(1)

logger = logging.getLogger(__name__)


class Outage:
    """Whether the cache is down. While it is, one call in PAUSE seconds tries to reach it.

    All other calls go on without it immediately, so requests do not wait for timeouts.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.under_way = False
        self.next_attempt = 0.0  # on the monotonic clock

    def attempt(self, call: Callable[[], Result]) -> Result | None:
        """Return the result of a call to the cache, or None if the cache is down."""
        if self.under_way:
            if time.monotonic() < self.next_attempt:
                return None
            self.next_attempt = time.monotonic() + PAUSE
        try:
            result = call()
        except CACHE_ERRORS as error:
            self.note(error)
            return None
        if self.under_way:
            self.note(None)
        return result

    def note(self, error: Exception | None) -> None:
        """Record whether a call failed. Logs the beginning and the end of an outage."""
        with self.lock:
            self.next_attempt = time.monotonic() + PAUSE
            if self.under_way == bool(error):
                return
            self.under_way = bool(error)
        CACHE_UP.set(0 if error else 1)
        if error:
            CACHE_OUTAGES.inc()
            kind = type(error).__name__
            logger.error("rate limits are not enforced: the cache is unavailable (%s)", kind)
        else:
            logger.warning("rate limits are enforced again: the cache is available")


outage = Outage()
