"""Counters that expire: in Redis, where all processes share them, or else in this process."""

import heapq
import threading
import time
from contextlib import suppress
from typing import Any

import redis
from django.conf import settings

Connection = Any  # redis-py leaves types out of its methods
Command = tuple[str | int, ...]

UNBOUNDED = 2**31 - 1  # connections; each thread uses at most one at a time


class SharedCounters:
    """Counts in Redis, in one round trip, on connections that are kept open.

    redis-py's own client takes twice the CPU time for one command, and more for a pipeline.
    """

    def __init__(self, address: str, *, prefix: str, **options: float) -> None:
        self.prefix = prefix
        self.pool = redis.ConnectionPool.from_url(address, max_connections=UNBOUNDED, **options)
        self.idle: list[Connection] = []

    def add(self, name: str, amount: int, *, seconds: int) -> int:
        """Add to a counter and return its value. It expires `seconds` after its creation.

        Raises redis.RedisError or OSError.
        """
        key = f"{self.prefix}:count:{name}"
        return self._run(("SET", key, 0, "EX", seconds, "NX"), ("INCRBY", key, amount))

    def check(self) -> None:
        """Raise redis.RedisError or OSError if Redis does not answer."""
        self._run(("EXISTS", f"{self.prefix}:count"))

    def _run(self, *commands: Command) -> int:
        """Return the answer to the last of the commands, which are sent together."""
        try:
            connection = self.idle.pop()
        except IndexError:
            connection = self.pool.make_connection()
        try:
            with suppress(redis.ConnectionError):  # it was closed while it was idle
                return _exchange(connection, commands)
            return _exchange(connection, commands)
        finally:
            self.idle.append(connection)


def _exchange(connection: Connection, commands: tuple[Command, ...]) -> int:
    try:
        connection.send_packed_command(connection.pack_commands(commands))
        return int([connection.read_response() for _ in commands][-1])
    except BaseException:
        connection.disconnect()  # an answer may still come; the next exchange connects again
        raise


class OwnCounters:
    """Counts in this process. There must be no other."""

    MOST = 100_000  # beyond these, the counters that expire first are dropped

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: dict[str, int] = {}
        self.ends: list[tuple[float, str]] = []  # a heap: when each counter expires

    def add(self, name: str, amount: int, *, seconds: int) -> int:
        """Add to a counter and return its value. It expires `seconds` after its creation."""
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
        """Do nothing: the process's own memory always answers."""

    def _drop_first(self) -> None:
        del self.values[heapq.heappop(self.ends)[1]]


def configured() -> SharedCounters | OwnCounters:
    """Make the counters that the settings configure."""
    if not settings.REDIS_URL:
        return OwnCounters()
    cache = settings.CACHES["default"]
    return SharedCounters(cache["LOCATION"], prefix=cache["KEY_PREFIX"], **cache["OPTIONS"])


counters = configured()
