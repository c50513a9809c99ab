"""Long timeouts, because a delay on a busy machine is not a fault of the code under test."""

import os
from typing import Any

PATIENCE = 180.0  # seconds to wait for a lock, a connection or Redis


def give_time(database: dict[str, Any], cache: dict[str, Any]) -> None:
    """Set long timeouts for locks, connections and the test Redis.

    On a busy machine, the shorter production timeouts could expire. Requests would then get a 503,
    or rate limits would fail open. A cache at another address, such as one that a test kills, keeps
    its timeouts.
    """
    if pool := database["OPTIONS"].get("pool"):
        pool["timeout"] = PATIENCE
    else:
        database["OPTIONS"]["timeout"] = PATIENCE
    if (address := os.environ.get("TEST_REDIS_URL")) and cache.get("LOCATION") == address:
        cache["OPTIONS"] |= {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
