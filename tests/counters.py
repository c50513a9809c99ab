"""Delete the tests' counters and no other keys, because a shared server may hold other data."""

from functools import cache as once

import redis
from django.conf import settings
from django.core.cache import cache

from config.api.limits import OwnCounters, counters


@once
def server() -> redis.Redis:
    """Keep one connection, because a test that replaces name look-ups may be unable to open one."""
    return redis.Redis.from_url(settings.REDIS_URL)


def forget() -> None:
    """Empty the tests' cache, and forget the counted calls."""
    if isinstance(counters, OwnCounters):
        cache.clear()
        counters.values.clear()
        counters.ends.clear()
    elif ours := list(server().scan_iter(f"*{settings.REDIS_PREFIX}:*", count=1000)):
        server().delete(*ours)
