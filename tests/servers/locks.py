"""Lock rows in another PostgreSQL transaction, and limit how long this process waits for locks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection
from django.db.models import QuerySet

from config.database.connections import configure_sessions
from config.database.locks import WORKER_LOCK_TIMEOUT


@contextmanager
def locked(*several: "QuerySet[Any]") -> Iterator[None]:
    """Keep rows locked while the block runs, and assert that each queryset contains rows."""
    with psycopg.connect(**connection.get_connection_params()) as session:
        for rows in several:
            keys = list(rows.values_list("pk", flat=True))
            assert keys
            meta = rows.model._meta
            name = f'SELECT 1 FROM "{meta.db_table}" WHERE "{meta.pk.column}" = ANY(%s) FOR UPDATE'
            session.execute(name, [keys])
        yield


@contextmanager
def limited_waits(timeout: str = WORKER_LOCK_TIMEOUT) -> Iterator[None]:
    """Limit how long this process waits for locks. The default is a worker's limit."""
    database: Any = connection  # Any: the type stubs lack `close_pool`
    before = dict(database.settings_dict["OPTIONS"])
    configure_sessions(lock_timeout=timeout)
    try:
        yield
    finally:
        database.settings_dict["OPTIONS"].update(before)
        database.close()
        database.close_pool()


def waits_for_a_lock() -> bool:
    """Return whether any session of this PostgreSQL database is waiting for a lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND datname = current_database()"
        )
        return cursor.fetchone() is not None
