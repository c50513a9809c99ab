"""Explain a database outage to the operator."""

import sqlite3

from config.database.postgresql.outage import reason, unavailable

# SQLite's primary result codes for an unusable database file
UNUSABLE = {
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT),
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB),
}
LOCKED = "database is locked"  # raised by SQLite and by the queue for its write lock


def outage_in_words(error: BaseException) -> str:
    """Return a one-line reason why the database does not respond, or "" for other errors.

    The line contains neither a password nor the database's URL.
    """
    result = getattr(error.__cause__, "sqlite_errorcode", sqlite3.SQLITE_OK)
    if unavailable(error) or result & 0xFF in UNUSABLE or str(error) == LOCKED:
        return f"the database does not respond: {reason(error)}"
    return ""
