"""Limit calls per time window, and concurrent waits for model replies. Specification: Limits.

All limits of a call are counted in one round trip to Redis, which takes 0.08 ms of CPU time. Pages
and forms use django-ratelimit instead (`config.page_limits`), which takes 0.8 ms for each limit.

To limit an operation, call `count` in its viewset, for example with the caller's id:

    limits.count(("exports", self.caller.pk, (10, 60)))  # 10 calls in 60 seconds

and add the name of the limit to NAMES and its row to docs/limits.md.
"""

import hashlib
import heapq
import threading
import time
import zlib
from collections import Counter as CounterOf
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, NoReturn
from uuid import UUID

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
# Create each series now, at 0, because rate() misses the first event of a series that begins at 1.
for known in NAMES:
    REFUSED.labels(known)


class Window(NamedTuple):
    """The current window of a limit for one caller."""

    name: str
    counter: str
    rate: Rate
    left: int  # seconds until it ends


class OwnCounters:
    """Expiring counters in memory, for the calls that this process receives."""

    MOST = 100_000  # maximum number of counters; when it is reached, the next to expire is dropped

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: dict[str, int] = {}
        self.ends: list[tuple[float, str]] = []  # a heap of expiry times and names

    def take(self, windows: Sequence[Window]) -> int:
        """Count a call in each window, or in none if one is full.

        Returns the index of the first full window, or the number of windows if none is full.
        """
        now = time.monotonic()
        with self.lock:
            while self.ends and (self.ends[0][0] <= now or len(self.ends) > self.MOST):
                self.values.pop(heapq.heappop(self.ends)[1], None)
            for index, window in enumerate(windows):
                if self.values.get(window.counter, 0) >= window.rate[0]:
                    return index
            for window in windows:
                if window.counter not in self.values:
                    heapq.heappush(self.ends, (now + window.rate[1] + SPARE, window.counter))
                self.values[window.counter] = self.values.get(window.counter, 0) + 1
        return len(windows)

    def give_back(self, counters: Sequence[str]) -> None:
        """Subtract a call from each counter that has not expired."""
        with self.lock:
            for counter in counters:
                if counter in self.values:
                    self.values[counter] -= 1

    def check(self) -> bool:
        """Return True, because counters in memory are always available."""
        return True


class SharedCounters:
    """Expiring counters in Redis. Each call is one round trip on a connection that is kept open."""

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
        self.connect = partial(
            Redis.from_url, address, single_connection_client=True, retry=retry, **options
        )
        self.idle: deque[Any] = deque()  # clients with one connection each
        registry = Redis.from_url(address)  # does not connect
        self.take_script = registry.register_script(self.TAKE)
        self.give_back_script = registry.register_script(self.GIVE_BACK)

    def take(self, windows: Sequence[Window]) -> int:
        """Count like OwnCounters. Raises redis.RedisError or OSError."""
        bounds = [bound for each in windows for bound in (each.rate[0], each.rate[1] + SPARE)]
        return int(self._run(self.take_script, [each.counter for each in windows], bounds))

    def give_back(self, counters: Sequence[str]) -> None:
        """Subtract a call from each counter that exists. Raises redis.RedisError or OSError."""
        self._run(self.give_back_script, counters)

    def check(self) -> bool:
        """Return True if Redis accepts writes. Raises redis.RedisError or OSError."""
        self._run(self.take_script, ["check"], [2**31, 1])
        return True

    def _run(self, script: Any, counters: Sequence[str], arguments: Sequence[int] = ()) -> Any:
        try:
            client = self.idle.pop()
        except IndexError:
            client = self.connect()
        keys = [f"{self.prefix}:count:{counter}" for counter in counters]
        reply = script(keys, arguments, client=client)
        self.idle.append(client)  # after an error, the client is discarded
        return reply


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
    return bool(outage.attempt(counters.check))


class Places:
    """Limits the number of threads waiting for models in this process, in total and per account."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.held: CounterOf[UUID] = CounterOf()

    @contextmanager
    def one(self, account_id: UUID) -> Iterator[None]:
        """Hold a slot during the block. Raises TooManyRequests. Open point: replies-in-flight.

        Enter the block before anything is counted or stored, so that a refusal leaves nothing to
        undo.
        """
        most, of_account = settings.REPLIES_IN_FLIGHT, settings.REPLIES_IN_FLIGHT_OF_ACCOUNT
        with self.lock:
            if self.held[account_id] >= of_account:
                refuse("in-flight", (of_account, 1), retry_after=1)
            if self.held.total() >= most:
                refuse("in-flight", (most, 1), retry_after=1)
            self.held[account_id] += 1
        try:
            yield
        finally:
            with self.lock:
                self.held[account_id] -= 1
                if not self.held[account_id]:
                    del self.held[account_id]


places = Places()
