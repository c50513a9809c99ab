"""Set long timeouts, so that tests do not fail only because the machine is busy."""

import os
from typing import Any

PATIENCE = 180.0  # timeout for locks, connections and Redis, in seconds


def give_time(database: dict[str, Any], cache: dict[str, Any]) -> None:
    """Set long timeouts for locks, connections and the test Redis.

    On a busy machine, the shorter production timeouts could expire. Requests would then get a 503,
    or rate limits would fail open. Other caches, such as a Redis server that a test kills, keep
    their own timeouts.
    """
    if pool := database["OPTIONS"].get("pool"):
        pool["timeout"] = PATIENCE
    else:
        database["OPTIONS"]["timeout"] = PATIENCE
    if (address := os.environ.get("TEST_REDIS_URL")) and cache.get("LOCATION") == address:
        cache["OPTIONS"] |= {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
