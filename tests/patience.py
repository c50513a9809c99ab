"""Time for a machine under load: what is late there is no fault of what is tested."""

import os
from typing import Any

PATIENCE = 180.0  # seconds


def give_time(database: dict[str, Any], cache: dict[str, Any]) -> None:
    """Let those wait long who wait for a lock, a connection or the tests' Redis.

    Each gives up sooner in a service, and answers 500 or leaves its limits open. A cache that a
    test plays with keeps its times.
    """
    if pool := database["OPTIONS"].get("pool"):
        pool["timeout"] = PATIENCE
    else:
        database["OPTIONS"]["timeout"] = PATIENCE
    if (address := os.environ.get("TEST_REDIS_URL")) and cache.get("LOCATION") == address:
        cache["OPTIONS"] |= {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
