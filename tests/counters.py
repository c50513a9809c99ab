"""Reset the cache and the counters of the rate limits between tests.

Only the keys of this test process are deleted, because a shared server may hold other data.
"""

from functools import cache as once

import redis
from django.conf import settings
from django.core.cache import cache

from config.api import limits
from config.api.limits import OwnCounters, counters


@once
def server() -> redis.Redis:
    """Return a client, cached because a new one cannot connect while name lookups are replaced."""
    return redis.Redis.from_url(settings.REDIS_URL)


def forget() -> None:
    """Empty the test cache, and reset the counters of the rate limits."""
    limits.users.clear()
    if isinstance(counters, OwnCounters):
        cache.clear()
        counters.values.clear()
        counters.ends.clear()
    elif ours := list(server().scan_iter(f"*{settings.REDIS_PREFIX}:*", count=1000)):
        server().delete(*ours)
