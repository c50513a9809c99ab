"""The Prometheus metrics of this process. docs/monitoring.md lists all of them.

`serve` creates a folder, METRICS_DIR, for the processes that it starts. Each process keeps its
metrics there, in files that outlive the process. The metrics page sums the values in all files, so
no counter drops when a process dies. If METRICS_DIR is not set, a process shows only its own
metrics.

This is prometheus_client's multiprocess mode.
"""

import os
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

__all__ = ["Counter", "Gauge", "Histogram"]

LOOK = 5.0  # seconds between checks of the connection pool

# A page that sums the metrics of several processes cannot show when each metric was created, so
# creation times are left out of every page.
disable_created_metrics()  # type: ignore[no-untyped-call]

IN_PROGRESS = Gauge(
    "chatbots_requests_in_progress",
    "Requests received but not yet answered",
    multiprocess_mode="livesum",
)
WEB_THREADS = Gauge(
    "chatbots_web_threads", "Threads that answer requests", multiprocess_mode="livesum"
)
POOL_SIZE = Gauge(
    "chatbots_database_pool_connections_limit",
    "Maximum number of database connections that the pools may open",
    multiprocess_mode="livesum",
)
POOL_USED = Gauge(
    "chatbots_database_pool_connections_used",
    "Database connections in use",
    multiprocess_mode="livesum",
)
POOL_SECONDS = Counter(
    "chatbots_database_pool_wait_seconds", "Total time that threads waited for a connection"
)


def watch_pool() -> None:
    """Start watching the connection pool of this process. SQLite has no pool."""
    if connection.vendor == "postgresql":
        pool: Any = connection.pool  # type: ignore[attr-defined]  # psycopg's, not in the stubs
        threading.Thread(target=_watch, args=(pool,), name="pool-watch", daemon=True).start()


def _watch(pool: Any) -> None:
    while True:
        figures = pool.pop_stats()  # since the last call
        POOL_SIZE.set(figures["pool_max"])
        POOL_USED.set(figures["pool_size"] - figures["pool_available"])
        POOL_SECONDS.inc(figures.get("requests_wait_ms", 0) / 1000)
        time.sleep(LOOK)


class OwnMetrics:
    """The metrics of this process or, if METRICS_DIR is set, of all processes that share it."""

    def collect(self) -> Iterable[Metric]:
        """Collect the metrics. If METRICS_DIR is set, adds up the metrics of all processes."""
        if settings.METRICS_DIR is None:
            return REGISTRY.collect()
        forget_dead(settings.METRICS_DIR)
        every = MultiProcessCollector(None, str(settings.METRICS_DIR))  # type: ignore[no-untyped-call]
        found: Iterable[Metric] = every.collect()  # type: ignore[no-untyped-call]
        return found


def registry(*further: Collector) -> CollectorRegistry:
    """Create the registry for a metrics page from our metrics and additional collectors."""
    made = CollectorRegistry()
    for one in (OwnMetrics(), *further):
        made.register(one)
    return made


def forget_dead(folder: Path) -> None:
    """Delete the gauges of processes that have ended. Their counters remain in the totals."""
    for pid in {int(file.stem.rpartition("_")[2]) for file in folder.glob("gauge_*")}:
        # The process may belong to another user, or another page may have deleted the files.
        with suppress(PermissionError, FileNotFoundError):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]


def serve(address: str, port: int) -> None:
    """Start threads that serve the metrics on a separate port. Raises OSError."""
    start_http_server(port, address, registry())
