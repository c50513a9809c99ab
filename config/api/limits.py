"""Limit calls per window, and replies in flight. Specification: Limits."""

import hashlib
import logging
import threading
import time
import zlib
from collections import Counter as CounterOf
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, NoReturn
from uuid import UUID

from django.conf import settings

from config.api.counters import counters
from config.api.errors import TooManyRequests
from config.environment import Rate
from config.metrics import Counter, Gauge

CACHE_ERRORS = counters.ERRORS
ASK_AGAIN = 0.5  # seconds between two checks on a cache that is down
SPARE = 5  # seconds that a counter outlives its window, because processes' clocks differ

REFUSED = Counter("chatbots_refused_calls", "Calls refused by a limit", ["limit"])
NAMES = (
    *("address", "user", "messages", "replies", "in-flight"),
    *("sign-in", "sign-in-address", "trial"),
)
# Create each series now: no rate can be computed for a series that begins with its first event.
for known in NAMES:
    REFUSED.labels(known)
CACHE_OUTAGES = Counter("chatbots_cache_outages", "Times the cache stopped answering")
CACHE_UP = Gauge(
    "chatbots_cache_up", "Whether the cache answers: 1, or 0", multiprocess_mode="livemin"
)
CACHE_UP.set(1)

logger = logging.getLogger(__name__)


class Outage:
    """Tracks whether the cache is down. During an outage limits are open and no call waits for it.

    The first call that fails begins the outage and logs it once. One thread then asks the cache
    until it answers again.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.under_way = False

    def begin(self, error: Exception) -> None:
        """Begin an outage unless one is under way: log it, count it and start the watch."""
        with self.lock:
            if self.under_way:
                return
            self.under_way = True
        CACHE_OUTAGES.inc()
        CACHE_UP.set(0)
        logger.error("limits are open: the cache does not answer (%s)", type(error).__name__)
        threading.Thread(target=self.watch, name="cache-watch", daemon=True).start()

    def watch(self) -> None:
        """Ask the cache until it answers again."""
        answered = False
        while not answered:
            time.sleep(ASK_AGAIN)
            with suppress(*CACHE_ERRORS):
                counters.check()
                answered = True
        with self.lock:
            self.under_way = False
        CACHE_UP.set(1)
        logger.warning("limits hold again: the cache answers")


outage = Outage()


class Counted(NamedTuple):
    """A counted call: its window's counter, and the number of calls in this window so far."""

    counter: str
    calls: int
    retry_after: int  # seconds


def increment(name: str, key: str, rate: Rate) -> Counted | None:
    """Add one call to a key's window. Returns None while the cache does not answer.

    Each key has its own grid of windows, so that not all of them begin at once.
    """
    if outage.under_way:
        return None
    now = int(time.time())
    passed = (now - zlib.crc32(key.encode())) % rate[1]
    window = f"{name} {key} {rate[0]}/{rate[1]} {now - passed}"
    counter = hashlib.sha256(window.encode()).hexdigest()
    try:
        calls = counters.add(counter, 1, seconds=rate[1] + SPARE)
    except CACHE_ERRORS as error:
        outage.begin(error)
        return None
    return Counted(counter, calls, rate[1] - passed)


def refuse_beyond(name: str, counted: Counted | None, rate: Rate) -> None:
    """Raise TooManyRequests if a counted call exceeds its limit."""
    if counted and counted.calls > rate[0]:
        REFUSED.labels(name).inc()
        raise TooManyRequests(limit=rate[0], window=rate[1], retry_after=counted.retry_after)


def count(name: str, key: object, rate: Rate | None) -> None:
    """Count one call of `key` under the limit called `name`. Raises TooManyRequests.

    Calls pass if the cache is down: a limit protects the service and must not take it down.
    """
    if rate:
        refuse_beyond(name, increment(name, str(key), rate), rate)


@contextmanager
def taken(name: str, key: object, rate: Rate) -> Iterator[Callable[[], None]]:
    """Count one call, and give it back if the block fails.

    Yields a function that also gives it back. Raises TooManyRequests. Open point: send-order.
    """
    counted = increment(name, str(key), rate)

    def give_back() -> None:
        if counted and not outage.under_way:
            try:
                counters.add(counted.counter, -1, seconds=rate[1] + SPARE)
            except CACHE_ERRORS as error:
                outage.begin(error)

    try:
        refuse_beyond(name, counted, rate)
        yield give_back
    except BaseException:
        give_back()
        raise


class Places:
    """Limits how many threads of this process wait for models at once, in all and per account."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.held: CounterOf[UUID] = CounterOf()

    @contextmanager
    def one(self, account_id: UUID) -> Iterator[None]:
        """Hold a place while a thread waits. Raises TooManyRequests. Open point: replies-in-flight.

        Call it before anything is counted or stored: a refusal leaves nothing to give back.
        """
        with self.lock:
            if self.held[account_id] >= settings.REPLIES_IN_FLIGHT_OF_ACCOUNT:
                refuse(settings.REPLIES_IN_FLIGHT_OF_ACCOUNT)
            if self.held.total() >= settings.REPLIES_IN_FLIGHT:
                refuse(settings.REPLIES_IN_FLIGHT)
            self.held[account_id] += 1
        try:
            yield
        finally:
            with self.lock:
                self.held[account_id] -= 1
                if not self.held[account_id]:
                    del self.held[account_id]


def refuse(places: int) -> NoReturn:
    """Refuse a call for which no place is free. Raises TooManyRequests."""
    REFUSED.labels("in-flight").inc()
    raise TooManyRequests(limit=places, window=1, retry_after=1)


places = Places()


def reachable() -> bool:
    """Return whether the cache that holds the counters answers."""
    if outage.under_way:
        return False
    try:
        counters.check()
    except CACHE_ERRORS as error:
        outage.begin(error)
        return False
    return True
