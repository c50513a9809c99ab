"""Count calls in a window, atomically, in the shared cache. Specification: Limits."""

import logging
import threading
import time
import zlib
from collections import Counter as CounterOf
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple, NoReturn
from uuid import UUID

import redis
from django.conf import settings
from django.core.cache import cache
from django_ratelimit.core import ALL, _make_cache_key, get_usage
from prometheus_client import Counter, Gauge

from config.api.errors import TooManyRequests
from config.environment import Rate

CACHE_ERRORS = (redis.RedisError, OSError)
ASK_AGAIN = 0.5  # seconds between two looks at a cache that is away

REFUSED = Counter("chatbots_refused_calls", "Calls refused by a limit", ["limit"])
CACHE_OUTAGES = Counter("chatbots_cache_outages", "Times the cache ceased to answer")
CACHE_UP = Gauge("chatbots_cache_up", "Whether the cache answers: 1, or 0")
CACHE_UP.set(1)

logger = logging.getLogger(__name__)


class Outage:
    """The time in which the cache does not answer: limits are open, and nobody waits for it.

    The first call that fails notices it and logs it, once; one thread asks until it is over.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.under_way = False

    def begin(self, error: Exception) -> None:
        """Note that the cache does not answer, unless that is known."""
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
                cache.get("reachable")
                answered = True
        with self.lock:
            self.under_way = False
        CACHE_UP.set(1)
        logger.warning("limits hold again: the cache answers")


outage = Outage()


class Counted(NamedTuple):
    """One call that was counted: under which key of the cache, and what that came to."""

    counter: str
    calls: int
    retry_after: int  # seconds


def increment(name: str, key: str, rate: Rate) -> Counted | None:
    """Count one call up; None while the cache does not answer."""
    if outage.under_way:
        return None
    text = f"{rate[0]}/{rate[1]}s"
    try:
        usage = get_usage(None, group=name, key=lambda *_: key, rate=text, increment=True)
    except CACHE_ERRORS as error:
        outage.begin(error)
        return None
    if usage is None:
        return None
    # Windows end on a grid of their own for each key. A second may have begun since ours was
    # found, hence the step back to the grid.
    end = int(time.time()) + usage["time_left"]
    end -= (end - zlib.crc32(key.encode())) % rate[1]
    counter = _make_cache_key(name, end, text, key, ALL)
    # The last second of a window is wholly its own: only after it the next one begins.
    return Counted(counter, usage["count"], min(rate[1], max(0, usage["time_left"]) + 1))


def judge(name: str, counted: Counted | None, rate: Rate) -> None:
    """Refuse a call beyond the limit. Raises TooManyRequests."""
    if counted and counted.calls > rate[0]:
        REFUSED.labels(name).inc()
        raise TooManyRequests(limit=rate[0], window=rate[1], retry_after=counted.retry_after)


def count(name: str, key: object, rate: Rate | None) -> None:
    """Count one call of `key` under the limit called `name`. Raises TooManyRequests.

    Without a cache calls pass: a limit protects the service, and must not take it down.
    """
    if rate:
        judge(name, increment(name, str(key), rate), rate)


@contextmanager
def taken(name: str, key: object, rate: Rate) -> Iterator[Callable[[], None]]:
    """Count one call for as long as what it is counted for succeeds; a failure gives it back.

    Gives a function that does so, too. Raises TooManyRequests. Open point: send-order.
    """
    counted = increment(name, str(key), rate)

    def give_back() -> None:
        if counted and not outage.under_way:
            try:
                cache.decr(counted.counter)
            except ValueError:  # its window is over
                return
            except CACHE_ERRORS as error:
                outage.begin(error)

    try:
        judge(name, counted, rate)
        yield give_back
    except BaseException:
        give_back()
        raise


class Places:
    """Threads of this process that may wait for models at once, for all accounts and for one."""

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
    """Say whether the cache that holds the counters answers."""
    if outage.under_way:
        return False
    try:
        cache.get("reachable")
    except CACHE_ERRORS as error:
        outage.begin(error)
        return False
    return True
