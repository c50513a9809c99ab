"""Reset the cache and the rate limit counters between tests.

Only this test process's keys are deleted, because a shared Redis server may hold other data.
"""

from functools import cache as once

import redis
from django.conf import settings
from django.core.cache import cache

from config.api.limits import OwnCounters, counters


@once
def server() -> redis.Redis:
    """Return a Redis client.

    The client is cached, because a new client could not connect while a test patches name
    resolution.
    """
    return redis.Redis.from_url(settings.REDIS_URL)


def forget() -> None:
    """Empty the test cache and reset the rate limit counters."""
    if isinstance(counters, OwnCounters):
        cache.clear()
        counters.values.clear()
    elif ours := list(server().scan_iter(f"*{settings.REDIS_PREFIX}:*", count=1000)):
        server().delete(*ours)
