"""Configure this process's database connections, and release the current thread's connection."""

from typing import Any

from django.db import connection


def configure_sessions(**parameters: str) -> None:
    """Set PostgreSQL parameters for all later connections of this process."""
    database: Any = connection  # Any: Django's stubs lack the pool
    if database.vendor == "postgresql":
        options = database.settings_dict["OPTIONS"]
        given = " ".join(f"-c {name}={value}" for name, value in parameters.items())
        options["options"] = f"{given} {options['options']}"
        database.close()
        database.close_pool()


def release_connection() -> None:
    """Give the thread's connection back to the pool before waiting for a network peer.

    Inside a transaction, this does nothing, but no transaction should be open during such a wait.
    With SQLite, there is no pool. Each thread keeps its connection until the thread ends, because
    opening a connection takes longer than sending a delivery.
    """
    if connection.vendor != "sqlite" and not connection.in_atomic_block:
        connection.close()
