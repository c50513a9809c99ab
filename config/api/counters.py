"""Counters that expire: in Redis, where all processes share them, or else in this process."""

import heapq
import threading
import time
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from config.api.shared_counters import SharedCounters


class OwnCounters:
    """Counts in this process. There must be no other."""

    ERRORS = (OSError,)
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


def configured() -> "SharedCounters | OwnCounters":
    """Make the counters that the settings configure."""
    if not settings.REDIS_URL:
        return OwnCounters()
    # Its library is large: without Redis, no process loads it.
    from config.api.shared_counters import SharedCounters

    cache = settings.CACHES["default"]
    return SharedCounters(cache["LOCATION"], prefix=cache["KEY_PREFIX"], **cache["OPTIONS"])


counters = configured()
