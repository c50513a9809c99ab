"""Release the thread's database connection."""

from django.db import connection


def release_connection() -> None:
    """Give the thread's connection back to the pool before waiting for a network peer.

    Inside a transaction it keeps the connection, but no transaction may wait for a peer. SQLite has
    no pool: a connection is kept as long as its thread, because opening one costs more than a send.
    """
    if connection.vendor != "sqlite" and not connection.in_atomic_block:
        connection.close()
