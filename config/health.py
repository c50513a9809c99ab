"""Probes for whoever runs the service."""

import psycopg
import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from config.api import limits
from config.db import release_connection
from config.postgresql.outage import outage

NOTICED_WITHIN = 0.8  # seconds


def healthz(request: HttpRequest) -> JsonResponse:
    """Say that the process is up."""
    return JsonResponse({"status": "ok"})


def database_answers() -> bool:
    """Ask the database for anything at all, for less than a second."""
    try:
        if outage.watched:
            outage.find_out(connection.get_connection_params(), within=NOTICED_WITHIN)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, psycopg.OperationalError):
        return False
    finally:
        release_connection()  # the cache and the broker may keep us waiting
    return True


def broker_answers() -> bool:
    """Ask the broker, where there is one."""
    if not settings.REDIS_URL:
        return True
    try:
        redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1).ping()
    except (redis.RedisError, OSError):
        return False
    return True


def readyz(request: HttpRequest) -> JsonResponse:
    """Name the parts. Without its database the service is not ready; the rest is degraded."""
    parts = {
        "database": database_answers(),
        "cache": limits.reachable(),
        "broker": broker_answers(),
    }
    state = "ok" if all(parts.values()) else "degraded" if parts["database"] else "unavailable"
    return JsonResponse(
        {
            "status": state,
            "parts": {name: "ok" if works else "unavailable" for name, works in parts.items()},
        },
        status=200 if parts["database"] else 503,
    )
