"""Detect outages of the rate limits' cache, so that an outage does not take the service down."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from config.metrics import Counter, Gauge

ASK_AGAIN = 0.5  # seconds between checks of a cache that is down

CACHE_OUTAGES = Counter(
    "chatbots_cache_outages", "Number of times that the cache became unavailable"
)
CACHE_UP = Gauge(
    "chatbots_cache_up", "1 if the cache is available, otherwise 0", multiprocess_mode="livemin"
)
CACHE_UP.set(1)

logger = logging.getLogger(__name__)


class Outage:
    """Tracks whether the cache is down.

    The first failed call to the cache starts an outage, which is logged once. One thread then polls
    the cache until it accepts writes again. Until then, rate limits are not enforced, and requests
    do not wait for the cache.
    """

    def __init__(self, check: Callable[[], None], errors: tuple[type[Exception], ...]) -> None:
        self.check, self.errors = check, errors  # `check` raises one of `errors` during an outage
        self.lock = threading.Lock()
        self.under_way = False

    def begin(self, error: Exception) -> None:
        """Start an outage unless one is under way: log it, count it and start polling the cache."""
        with self.lock:
            if self.under_way:
                return
            try:
                threading.Thread(target=self.watch, name="cache-watch", daemon=True).start()
            except RuntimeError:  # cannot start a thread; the next failed call tries again
                return
            self.under_way = True
        CACHE_OUTAGES.inc()
        CACHE_UP.set(0)
        logger.error(
            "rate limits are not enforced: the cache is unavailable (%s)", type(error).__name__
        )

    def watch(self) -> None:
        """Poll the cache until it accepts writes again."""
        available = False
        while not available:
            time.sleep(ASK_AGAIN)
            with suppress(*self.errors):
                self.check()
                available = True
        with self.lock:
            self.under_way = False
        CACHE_UP.set(1)
        logger.warning("rate limits are enforced again: the cache is available")

    def cache_answers(self) -> bool:
        """Return whether the cache accepts writes. If it does not, start an outage."""
        if self.under_way:
            return False
        try:
            self.check()
        except self.errors as error:
            self.begin(error)
            return False
        return True
