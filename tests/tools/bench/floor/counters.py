"""The floor's rate-limit counters. Each call to `count` increments two of them.

With Redis, one EVALSHA increments both counters. Without Redis, a lock protects a dict of counters.
"""

import threading
import time
from typing import Any

from redis.connection import ConnectionPool

COUNT = """local said = {}
for number, key in ipairs(KEYS) do
  said[number] = redis.call('INCR', key)
  if said[number] == 1 then redis.call('EXPIRE', key, ARGV[number]) end
end
return said"""


class Redis:
    """Counters in Redis. Each thread has its own persistent connection."""

    def __init__(self, address: str, prefix: str) -> None:
        self.pool = ConnectionPool.from_url(address)
        self.prefix = prefix
        self.local = threading.local()
        self.script = self.ask("SCRIPT", "LOAD", COUNT)

    def ask(self, *words: object) -> object:
        if not hasattr(self.local, "connection"):
            made: Any = self.pool.make_connection()  # Any: redis does not type its methods
            made.connect()
            self.local.connection = made
        self.local.connection.send_command(*words)
        return self.local.connection.read_response()

    def count(self, windows: dict[str, int]) -> list[int]:
        """Count one call in each window, and return the counts.

        `windows` maps each window's name to its length in seconds.
        """
        now = int(time.time())
        keys = [f"{self.prefix}{name}{now // window}" for name, window in windows.items()]
        counted = self.ask("EVALSHA", self.script, len(keys), *keys, *windows.values())
        assert isinstance(counted, list)
        return counted


class Memory:
    """Counters in this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls: dict[tuple[str, int], int] = {}

    def count(self, windows: dict[str, int]) -> list[int]:
        now, said = int(time.time()), []
        with self.lock:
            if len(self.calls) > 100_000:
                self.calls.clear()
            for name, window in windows.items():
                key = (name, now // window)
                self.calls[key] = calls = self.calls.get(key, 0) + 1
                said.append(calls)
        return said
