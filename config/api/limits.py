"""Limit calls per time window, and concurrent waits for model replies. Specification: Limits."""

import hashlib
import heapq
import threading
import time
import zlib
from collections import Counter as CounterOf
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, NoReturn
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest

from config.api.cache_outage import Outage
from config.api.errors import TooManyRequests
from config.database.inline import MustWait, inline
from config.environment import Rate
from config.metrics import Counter

Amount = tuple[str, int, int]  # counter name, amount to add, lifetime in seconds

UNBOUNDED = 2**31 - 1  # no limit on connections to Redis: each thread uses at most one
CALL = "config.call"  # key in request.META for the request's Call
MOST_USERS = 10_000  # maximum number of API keys to remember; beyond that, all are forgotten
SPARE = 5  # seconds to keep a counter after its window, because machines' clocks differ

REFUSED = Counter("chatbots_refused_calls", "Calls refused by a limit", ["limit"])
NAMES = {"address", "user", "messages", "replies", "in-flight"}
NAMES |= {"sign-in", "sign-in-address", "password-change", "trial"}
# Create each series now, at 0, because rate() misses the first event of a series that begins at 1.
for known in NAMES:
    REFUSED.labels(known)


class Unanswered(MustWait):
    """Raised if the cache does not reply in time. The counter has probably been incremented."""


class OwnCounters:
    """Expiring counters in memory, for the calls that this process receives."""

    errors = (OSError,)
    remote = False
    MOST = 100_000  # maximum number of counters; when it is reached, the next to expire is dropped

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: dict[str, int] = {}
        self.ends: list[tuple[float, str]] = []  # a heap of expiry times and names

    def add_each(self, amounts: Sequence[Amount]) -> list[int]:
        """Add to counters, and return their values. A counter's lifetime begins at its creation."""
        return [self._add(*amount) for amount in amounts]

    def _add(self, name: str, amount: int, seconds: int) -> int:
        now = time.monotonic()
        with self.lock:
            while self.ends and self.ends[0][0] <= now:
                self._drop_first()
            if name not in self.values:
                if len(self.ends) >= self.MOST:
                    self._drop_first()
                heapq.heappush(self.ends, (now + seconds, name))
            self.values[name] = value = self.values.get(name, 0) + amount
            return value

    def check(self) -> None:
        """Do nothing, because counters in memory are always available."""

    def _drop_first(self) -> None:
        del self.values[heapq.heappop(self.ends)[1]]


class SharedCounters:
    """Expiring counters in Redis. Each call is one round trip on a connection that is kept open.

    redis-py's client would use twice the CPU time for one command, and even more for a pipeline.
    """

    remote = True

    def __init__(self, address: str, *, prefix: str, **options: float) -> None:
        import redis  # a large library, loaded only if Redis is used

        self.errors = (redis.RedisError, OSError)
        self.closed = redis.ConnectionError
        self.prefix = prefix
        self.pool = redis.ConnectionPool.from_url(address, max_connections=UNBOUNDED, **options)
        self.idle: list[Any] = []  # Any: redis-py's connections are only partially typed

    def add_each(self, amounts: Sequence[Amount]) -> list[int]:
        """Add to counters in one round trip, and return their values. Raises one of `errors`."""
        commands = []
        for name, amount, seconds in amounts:
            key = f"{self.prefix}:count:{name}".encode()
            commands.append(packed(b"SET", key, b"0", b"EX", b"%d" % seconds, b"NX"))
            commands.append(packed(b"INCRBY", key, b"%d" % amount))
        return [int(reply) for reply in self._run(*commands)[1::2]]

    def check(self) -> None:
        """Raise redis.RedisError or OSError if Redis does not respond or refuses writes."""
        self._run(packed(b"SET", f"{self.prefix}:check".encode(), b"", b"PX", b"1"))

    def _run(self, *commands: bytes) -> list[Any]:
        """Send packed commands together, and return their replies."""
        left = inline.left()
        try:
            connection = self.idle.pop()
        except IndexError:
            if left is not None:
                raise MustWait from None
            connection = self.pool.make_connection()
        try:
            try:
                return self._exchange(connection, commands, left)
            except self.closed:  # the connection was closed while idle
                if left is not None:
                    raise MustWait from None
            return self._exchange(connection, commands)
        finally:
            self.idle.append(connection)

    @staticmethod
    def _exchange(
        connection: Any, commands: tuple[bytes, ...], within: float | None = None
    ) -> list[Any]:
        if within is not None and not connection.is_connected:
            raise MustWait
        try:
            connection.send_packed_command([b"".join(commands)])
            if within is not None and not connection.can_read(within):
                raise Unanswered
            return [connection.read_response() for _ in commands]
        except BaseException:
            connection.disconnect()  # so that a late reply is not read by the next exchange
            raise


def packed(*words: bytes) -> bytes:
    """Encode a command in Redis's protocol, more than twice as fast as redis-py would."""
    arguments = [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
    return b"".join([b"*%d\r\n" % len(words), *arguments])


def configured() -> SharedCounters | OwnCounters:
    """Create counters in Redis if the settings name a Redis server, otherwise in memory."""
    if not settings.REDIS_URL:
        return OwnCounters()
    cache = settings.CACHES["default"]
    return SharedCounters(cache["LOCATION"], prefix=cache["KEY_PREFIX"], **cache["OPTIONS"])


counters = configured()
CACHE_ERRORS = counters.errors
users: dict[bytes, str] = {}  # maps the digests of recent API keys to user ids
outage = Outage(counters.check, CACHE_ERRORS)


class Counted(NamedTuple):
    """A counted call: the name of its counter, and the number of calls in the window so far."""

    counter: str
    calls: int
    seconds: int  # lifetime of the counter
    retry_after: int  # seconds


def increment(*calls: tuple[str, str, Rate]) -> Sequence[Counted | None]:
    """Count a call in the current window of each limit. The results are None if the cache is down.

    Each key's windows have their own offset, so that the windows do not all begin at once.
    """
    if outage.under_way:
        return [None] * len(calls)
    now, windows = int(time.time()), []
    for name, key, rate in calls:
        passed = (now - zlib.crc32(key.encode())) % rate[1]
        window = f"{name} {key} {rate[0]}/{rate[1]} {now - passed}"
        counter = hashlib.sha256(window.encode()).hexdigest()
        windows.append((counter, rate[1] + SPARE, rate[1] - passed))
    try:
        values = counters.add_each([(counter, 1, seconds) for counter, seconds, _ in windows])
    except CACHE_ERRORS as error:
        outage.begin(error)
        return [None] * len(calls)
    return [
        Counted(counter, value, seconds, retry_after)
        for (counter, seconds, retry_after), value in zip(windows, values, strict=True)
    ]


def give_back(counted: Counted | None) -> None:
    """Subtract a counted call from its counter, unless the cache is down."""
    if counted and not outage.under_way:
        try:
            counters.add_each([(counted.counter, -1, counted.seconds)])
        except CACHE_ERRORS as error:
            outage.begin(error)


def refuse_beyond(name: str, counted: Counted | None, rate: Rate) -> None:
    """Raise TooManyRequests if a counted call exceeds its limit."""
    if counted and counted.calls > rate[0]:
        REFUSED.labels(name).inc()
        raise TooManyRequests(limit=rate[0], window=rate[1], retry_after=counted.retry_after)


def count(name: str, key: object, rate: Rate | None) -> None:
    """Count one call by the caller `key` against the limit `name`. Raises TooManyRequests.

    While the cache is down, no call is refused, so that the outage does not stop the service.
    """
    if rate:
        [counted] = increment((name, str(key), rate))
        refuse_beyond(name, counted, rate)


class Call:
    """The counts of one request, kept if the request is restarted in another thread."""

    def __init__(self) -> None:
        self.counted: dict[str, Counted | None] = {}  # keyed by the limit's name
        # The probable user's id and count, which are unconfirmed until the key has been checked
        self.early: tuple[str, Counted | None] | None = None


def count_address(request: HttpRequest, address: str) -> None:
    """Count a request against the limits of its address and probable user. Raises TooManyRequests.

    The address's limit applies before the key is checked, so the user is not known yet. However,
    each process remembers the users of recent keys, so it can count a call against both limits in
    one round trip. Unless `count_user` confirms the user's count, `settle` undoes it.
    """
    call, rate, of_user = request.META[CALL], settings.RATE_LIMIT_IP, settings.RATE_LIMIT_USER
    if not rate:
        return
    if "address" not in call.counted:
        windows = [("address", address, rate)]
        if of_user and (user := users.get(digest(request))):
            windows.append(("user", user, of_user))
        try:
            call.counted["address"], *early = increment(*windows)
        except Unanswered:
            call.counted |= {name: None for name, _, _ in windows}
            raise
        if early:
            call.early = user, early[0]
    refuse_beyond("address", call.counted["address"], rate)


def count_user(request: HttpRequest, user: object) -> None:
    """Count a request with a valid key against its user's limit. Raises TooManyRequests."""
    call, rate = request.META[CALL], settings.RATE_LIMIT_USER
    if not rate:
        return
    if call.early and call.early[0] == str(user):
        call.counted["user"], call.early = call.early[1], None
    elif "user" not in call.counted:
        settle(request)
        try:
            [call.counted["user"]] = increment(("user", str(user), rate))
        except Unanswered:
            call.counted["user"] = None
            raise
        remember(request, str(user))
    refuse_beyond("user", call.counted["user"], rate)


def settle(request: HttpRequest, *, forget: bool = True) -> None:
    """Undo a user's count that was not confirmed. `forget` also drops the remembered user."""
    call = request.META[CALL]
    if call.early:
        if forget:
            users.pop(digest(request), None)
        with suppress(Unanswered):  # the new count is not needed
            give_back(call.early[1])
        call.early = None


def remember(request: HttpRequest, user: str) -> None:
    """Remember which user a key belongs to, if this can save later requests a round trip."""
    if counters.remote and settings.RATE_LIMIT_IP:
        if len(users) >= MOST_USERS:
            users.clear()
        users[digest(request)] = user


def digest(request: HttpRequest) -> bytes:
    """Return a digest that identifies the request's key without revealing it."""
    return hashlib.sha256(request.META.get("HTTP_AUTHORIZATION", "").encode()).digest()


@contextmanager
def taken(name: str, key: object, rate: Rate | None) -> Iterator[Callable[[], None]]:
    """Count one call, and undo the count if the block fails. Counts nothing if `rate` is None.

    Yields a function to undo the count later. Raises TooManyRequests. Open point: send-order.
    """
    [counted] = increment((name, str(key), rate)) if rate else [None]
    try:
        if rate:
            refuse_beyond(name, counted, rate)
        yield partial(give_back, counted)
    except BaseException:
        give_back(counted)
        raise


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
    """Refuse a call for which no slot is free. Raises TooManyRequests."""
    REFUSED.labels("in-flight").inc()
    raise TooManyRequests(limit=places, window=1, retry_after=1)


places = Places()
