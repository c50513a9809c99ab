"""Probes for operators and load balancers."""

import os

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from config.api import limits
from config.database import upgrades
from config.database.availability import discard_dead_connections, responds
from config.database.connections import release_connection

NOTICED_WITHIN = 0.8  # maximum time to detect a database outage, in seconds

UNAVAILABLE = "unavailable"


def healthz(request: HttpRequest) -> JsonResponse:
    """Respond with 200 while the process is up."""
    return JsonResponse({"status": "ok"})


def database_state() -> str:
    """Return "ok", or the reason why the database is not usable, within about a second."""
    try:
        if not responds(within=NOTICED_WITHIN):
            return UNAVAILABLE
        if upgrades.missing():
            return "lacks migrations"
        return "ok" if takes_writes() else "cannot be written"
    except DatabaseError as error:
        discard_dead_connections(error)
        return UNAVAILABLE
    finally:
        if not settings.EMBEDDED:
            release_connection()  # checking the cache and the broker may take a while


def takes_writes() -> bool:
    """Return whether the database can be written: its server, or on SQLite its file."""
    if connection.vendor == "sqlite":
        return os.access(connection.settings_dict["NAME"], os.W_OK)
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")  # "on" on a standby, too
        return bool(cursor.fetchone() == ("off",))


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
        "cache": "ok" if limits.cache_answers() else UNAVAILABLE,
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
