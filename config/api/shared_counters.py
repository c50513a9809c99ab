"""Counters in Redis, where all processes share them."""

from contextlib import suppress
from typing import Any

import redis

Connection = Any  # redis-py leaves types out of its methods
Command = tuple[str | int, ...]

UNBOUNDED = 2**31 - 1  # connections; each thread uses at most one at a time


class SharedCounters:
    """Counts in Redis, in one round trip, on connections that are kept open.

    redis-py's own client takes twice the CPU time for one command, and more for a pipeline.
    """

    ERRORS = (redis.RedisError, OSError)

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
