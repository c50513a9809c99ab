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


def readyz(request: HttpRequest) -> JsonResponse:
    """Report the state of the database, the cache and the broker.

    The service is unavailable without the database, and degraded without the cache and the broker,
    which are one Redis server. A replica, or a server whose memory or disk is full, answers but
    refuses writes, so the check is a write.
    """
    database = database_state()
    redis = "ok" if limits.cache_answers() else UNAVAILABLE
    state = "ok" if redis == "ok" else "degraded"
    return JsonResponse(
        {
            "status": state if database == "ok" else UNAVAILABLE,
            "sending": "on" if settings.SENDING else "off",
            "parts": {"database": database, "cache": redis, "broker": redis},
        },
        status=200 if database == "ok" else 503,
    )
