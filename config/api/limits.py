"""Limit calls per time window, and concurrent waits for model replies. Specification: Limits.

All limits of a call are counted in one round trip to Redis, which takes 0.08 ms of CPU time. Pages
and forms use django-ratelimit instead (`config.page_limits`), which takes 0.8 ms for each limit.

To limit an operation, call `count` in its viewset, for example with the caller's id:

    limits.count(("exports", self.caller.pk, (10, 60)))  # 10 calls in 60 seconds

and add the name of the limit to NAMES and its row to docs/limits.md.
"""

import hashlib
import threading
import time
import zlib
from collections import Counter as CounterOf
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, NoReturn

from django.conf import settings

from config.api.cache_outage import outage
from config.api.errors import TooManyRequests
from config.environment import Rate
from config.metrics import Counter

Limit = tuple[str, object, Rate | None]  # name, caller, rate; None disables the limit
GiveBack = Callable[..., None]

SPARE = 5  # seconds to keep a counter after its window, because machines' clocks differ

REFUSED = Counter("chatbots_refused_calls", "Calls refused by a limit", ["limit"])
NAMES = {"address", "user", "messages", "replies", "in-flight", "documents", "invitation"}
NAMES |= {"sign-in", "sign-in-address", "password-change", "trial"}
NAMES |= {"password-reset", "password-reset-address"}
# Create each series now, at 0, because rate() misses the first event of a series that begins at 1.
for known in NAMES:
    REFUSED.labels(known)


class Window(NamedTuple):
    """The current window of a limit for one caller."""

    name: str
    counter: str
    rate: Rate
    left: int  # seconds until it ends


CHECK = Window("check", "check", (2**31, 1), 1)  # never full


class OwnCounters:
    """Expiring counters in memory, for the calls that this process receives."""

    SWEEP = 60  # seconds between deletions of expired counters

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: dict[str, tuple[int, float]] = {}  # counts and expiry times, by counter
        self.swept = time.monotonic()

    def take(self, windows: Sequence[Window]) -> int:
        """Count a call in each window, or in none if one is full.

        Returns the index of the first full window, or the number of windows if none is full.
        """
        now = time.monotonic()
        with self.lock:
            if now > self.swept + self.SWEEP:
                self.values = {name: one for name, one in self.values.items() if one[1] > now}
                self.swept = now
            for index, window in enumerate(windows):
                if self.count(window.counter) >= window.rate[0]:
                    return index
            for window in windows:
                taken = self.count(window.counter) + 1
                self.values[window.counter] = taken, now + window.left + SPARE
        return len(windows)

    def count(self, counter: str) -> int:
        """Return the number of calls that a counter has counted."""
        return self.values.get(counter, (0, 0.0))[0]

    def give_back(self, counters: Sequence[str]) -> None:
        """Subtract a call from each counter that has not expired."""
        with self.lock:
            for counter in counters:
                if counter in self.values:
                    taken, end = self.values[counter]
                    self.values[counter] = taken - 1, end


class SharedCounters:
    """Expiring counters in Redis. Each call is one round trip."""

    # Incrementing first makes Redis refuse the call if it does not accept writes, so that a replica
    # does not refuse callers forever on the basis of old counters.
    TAKE = """
        for index, key in ipairs(KEYS) do
            local calls = redis.call('INCR', key)
            if calls == 1 then redis.call('EXPIRE', key, ARGV[2 * index]) end
            if calls > tonumber(ARGV[2 * index - 1]) then
                for counted = 1, index do redis.call('DECR', KEYS[counted]) end
                return index - 1
            end
        end
        return #KEYS
    """
    GIVE_BACK = """
        for _, key in ipairs(KEYS) do
            if redis.call('EXISTS', key) == 1 then redis.call('DECR', key) end
        end
    """

    def __init__(self, address: str, *, prefix: str, **options: float) -> None:
        from redis import Redis, exceptions
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        # Try again immediately if the server has closed an idle connection.
        retry = Retry(NoBackoff(), 1, supported_errors=(exceptions.ConnectionError,))
        self.prefix = prefix
        server: Any = Redis.from_url(address, retry=retry, **options)  # does not connect
        self.take_script = server.register_script(self.TAKE)
        self.give_back_script = server.register_script(self.GIVE_BACK)

    def take(self, windows: Sequence[Window]) -> int:
        """Count like OwnCounters. Raises redis.RedisError or OSError."""
        bounds = [bound for each in windows for bound in (each.rate[0], each.rate[1] + SPARE)]
        return int(self.take_script(self.keys(each.counter for each in windows), bounds))

    def give_back(self, counters: Sequence[str]) -> None:
        """Subtract a call from each counter that exists. Raises redis.RedisError or OSError."""
        self.give_back_script(self.keys(counters))

    def keys(self, counters: Iterable[str]) -> list[str]:
        """Return the counters' keys in Redis."""
        return [f"{self.prefix}:count:{counter}" for counter in counters]


def configured() -> SharedCounters | OwnCounters:
    """Create counters in Redis if the settings name a Redis server, otherwise in memory."""
    if not settings.REDIS_URL:
        return OwnCounters()
    cache = settings.CACHES["default"]
    return SharedCounters(cache["LOCATION"], prefix=cache["KEY_PREFIX"], **cache["OPTIONS"])


counters = configured()


def window(name: str, key: str, rate: Rate) -> Window:
    """Return a limit's current window for the caller `key`.

    Each caller's windows have their own offset, so that the windows do not all begin at once.
    """
    now = int(time.time())
    passed = (now - zlib.crc32(key.encode())) % rate[1]
    described = f"{name} {key} {rate[0]}/{rate[1]} {now - passed}"
    counter = hashlib.sha256(described.encode()).hexdigest()
    return Window(name, counter, rate, rate[1] - passed)


def count(*limits: Limit) -> GiveBack:
    """Count one call against each limit, or against none if one is exceeded.

    While the cache is down, no call is refused, so that the outage does not stop the service.
    Returns a function that gives back the counts of the limits that it names, or all counts.
    Raises TooManyRequests.
    """
    windows = [window(name, str(key), rate) for name, key, rate in limits if rate]
    allowed = outage.attempt(partial(counters.take, windows)) if windows else None
    if allowed is not None and allowed < len(windows):
        full = windows[allowed]
        refuse(full.name, full.rate, retry_after=full.left)
    counted = {each.name: each.counter for each in windows} if allowed is not None else {}

    def give_back(*names: str) -> None:
        given = [counted.pop(name) for name in names or [*counted] if name in counted]
        if given:
            outage.attempt(partial(counters.give_back, given))

    return give_back


@contextmanager
def taken(*limits: Limit) -> Iterator[GiveBack]:
    """Count one call against each limit, and give the counts back if the block fails.

    Yields the function that `count` returns. Raises TooManyRequests. Open point: send-order.
    """
    give_back = count(*limits)
    try:
        yield give_back
    except BaseException:
        give_back()
        raise


def refuse(name: str, rate: Rate, *, retry_after: int) -> NoReturn:
    """Refuse a call because of the limit `name`. Raises TooManyRequests."""
    REFUSED.labels(name).inc()
    raise TooManyRequests(limit=rate[0], window=rate[1], retry_after=retry_after)


def cache_answers() -> bool:
    """Return whether the cache accepts writes. While it is down, it is asked once a second."""
    return outage.attempt(partial(counters.take, [CHECK])) is not None


class Room:
    """A total that all requests of this process share, and the share of it for one caller.

    `refuse` is called with the exceeded number, and raises an ApiError.
    """

    def __init__(self, total: int, share: int, *, refuse: Callable[[int], NoReturn]) -> None:
        self.total, self.share, self.refuse = total, share, refuse
        self.lock = threading.Lock()
        self.taken: CounterOf[Hashable] = CounterOf()  # by caller

    @contextmanager
    def part(self, caller: Hashable, size: int = 1) -> Iterator[None]:
        """Hold a part of the room during the block, or refuse the caller."""
        with self.lock:
            if self.taken[caller] + size > self.share:
                self.refuse(self.share)
            if self.taken.total() + size > self.total:
                self.refuse(self.total)
            self.taken[caller] += size
        try:
            yield
        finally:
            with self.lock:
                self.taken[caller] -= size
                if not self.taken[caller]:
                    del self.taken[caller]


# Threads that wait for models, by account. Take a place before anything is counted or stored, so
# that a refusal leaves nothing to undo. Open point: replies-in-flight.
places = Room(
    settings.REPLIES_IN_FLIGHT,
    settings.REPLIES_IN_FLIGHT_OF_ACCOUNT,
    refuse=lambda most: refuse("in-flight", (most, 1), retry_after=1),
)
