"""Forget what was counted: our own keys alone, for a server may hold other people's, too."""

from functools import cache as once

import redis
from django.conf import settings
from django.core.cache import cache


@once
def server() -> redis.Redis:
    """Keep one connection: tests that play name server cannot be asked for another."""
    return redis.Redis.from_url(settings.REDIS_URL)


def forget() -> None:
    """Empty the tests' cache."""
    if not settings.REDIS_URL:
        cache.clear()
    elif ours := list(server().scan_iter(f"*{settings.REDIS_PREFIX}:*", count=1000)):
        server().delete(*ours)
