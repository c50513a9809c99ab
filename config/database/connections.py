"""Release the thread's database connection."""

from django.db import connection


def release_connection() -> None:
    """Give the thread's connection back before waiting for a network peer.

    Inside a transaction it keeps the connection, but no transaction may wait for a peer.
    """
    if not connection.in_atomic_block:
        connection.close()
