"""Release the thread's database connection."""

from django.db import connection


def release_connection() -> None:
    """Give the thread's connection back to the pool before waiting for a network peer.

    Does nothing inside a transaction, but no transaction should be open during such a wait. SQLite
    has no pool: a connection lives as long as its thread, because opening one costs more than
    sending a delivery.
    """
    if connection.vendor != "sqlite" and not connection.in_atomic_block:
        connection.close()
