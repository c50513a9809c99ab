"""Probes for operators and load balancers."""

import errno
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import psycopg
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.http import HttpRequest, JsonResponse

from config.api import limits
from config.database import upgrades
from config.database.connections import release_connection
from config.database.postgresql.outage import outage

NOTICED_WITHIN = 0.8  # maximum time to detect a database outage, in seconds

UNAVAILABLE = "unavailable"
WRITE_EVERY = 1.0  # minimum time from a successful test write to the next one, in seconds
BUSY_SECONDS = 0.3
LEAST_FREE = 1024 * 1024  # minimum free disk space, in bytes; enough for the next message
PAGE = 8192  # bytes

_wrote_at = float("-inf")


def healthz(request: HttpRequest) -> JsonResponse:
    """Respond with 200 while the process is up."""
    return JsonResponse({"status": "ok"})


def database_state() -> str:
    """Return "ok", or the reason why the database is not usable, within about a second."""
    try:
        if outage.watched:
            outage.find_out(connection.get_connection_params(), within=NOTICED_WITHIN)
        if upgrades.missing():
            return "lacks migrations"
        return "ok" if takes_writes() else "cannot be written"
    except (DatabaseError, psycopg.OperationalError):
        return UNAVAILABLE
    finally:
        if not settings.EMBEDDED:
            release_connection()  # checking the cache and the broker may take a while


def takes_writes() -> bool:
    """Write to the database, and return whether it accepts writes.

    Anyone may call the probe as often as they like, so the result of a successful write is reused
    for WRITE_EVERY seconds. After a failed write, the next probe tries again.
    """
    global _wrote_at
    if time.monotonic() - _wrote_at < WRITE_EVERY:
        return True
    try:
        write_to_file() if connection.vendor == "sqlite" else write_to_server()
    except (DatabaseError, sqlite3.Error, OSError):
        return False
    _wrote_at = time.monotonic()
    return True


def write_to_server() -> None:
    """Update a row without changing it, and write LEAST_FREE bytes to a temporary file.

    Raises DatabaseError on a standby, in a read-only session or on a full disk. On a full disk, the
    update by itself often succeeds, because the new version of the row still fits into its page.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE django_migrations SET applied = applied"
            " WHERE id = (SELECT min(id) FROM django_migrations)"
        )
        # Rows that exceed work_mem are written to a file. An empty temp_tablespaces puts the file
        # on the database's own disk.
        cursor.execute("SET LOCAL work_mem = '64kB'; SET LOCAL temp_tablespaces = ''")
        cursor.execute(
            "SELECT count(*) FROM unnest(array_fill(repeat('x', %s), ARRAY[%s]))",
            [PAGE, LEAST_FREE // PAGE],
        )


def write_to_file() -> None:
    """Increment the embedded database's unused `user_version`.

    The update in `write_to_server` leaves a row unchanged, so SQLite would write nothing for it. If
    another process is writing, this function does not write, because the database evidently accepts
    writes. Raises sqlite3.Error, or OSError if the disk is full.
    """
    path = connection.settings_dict["NAME"]
    if shutil.disk_usage(Path(path).parent).free < LEAST_FREE:
        raise OSError(errno.ENOSPC, "the disk is full")
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as own:
        try:
            [number] = own.execute("PRAGMA user_version").fetchone()
            own.execute(f"PRAGMA user_version = {(number + 1) % 2**31}")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:  # busy: another process is writing
                raise


def broker_answers() -> bool:
    """Return whether the broker accepts messages. The in-process broker always does.

    A replica, or a Redis server whose memory or disk is full, answers but refuses writes.
    """
    if not settings.REDIS_URL:
        return True
    import redis  # a large library, loaded only if Redis is used

    try:
        server = redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1
        )
        server.set(f"{settings.REDIS_PREFIX}:check", "", px=1)
    except (redis.RedisError, OSError):
        return False
    return True


def readyz(request: HttpRequest) -> JsonResponse:
    """Report the state of the database, the cache and the broker.

    The service is unavailable without the database, and degraded without the cache or the broker.
    """
    database = database_state()
    parts = {
        "database": database,
        "cache": "ok" if limits.outage.cache_answers() else UNAVAILABLE,
        "broker": "ok" if broker_answers() else UNAVAILABLE,
    }
    state = "ok" if set(parts.values()) == {"ok"} else "degraded"
    return JsonResponse(
        {
            "status": state if database == "ok" else UNAVAILABLE,
            "sending": "on" if settings.SENDING else "off",
            "parts": parts,
        },
        status=200 if database == "ok" else 503,
    )
