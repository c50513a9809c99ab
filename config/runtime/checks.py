"""System checks that warn operators about settings that are valid but risky."""

from typing import Any

from django.conf import settings
from django.core import checks

SHARED = "django.core.cache.backends.redis.RedisCache"


def cache_is_shared(**_: Any) -> list[checks.CheckMessage]:
    """Warn if several processes are configured without a shared cache for their counters."""
    several = not settings.EMBEDDED or (settings.WEB_WORKERS or 1) > 1
    if settings.CACHES["default"]["BACKEND"] == SHARED or not several:
        return []
    return [
        checks.Warning(
            "the service runs only one web process, "
            "because without a shared cache each process would apply the limits separately",
            hint="set REDIS_URL so that all processes share the counters",
            id="config.W001",
        )
    ]


def networks_are_public(**_: Any) -> list[checks.CheckMessage]:
    """Warn about non-public networks that webhooks may reach."""
    if not settings.WEBHOOK_ALLOWED_NETWORKS:
        return []
    names = ", ".join(map(str, settings.WEBHOOK_ALLOWED_NETWORKS))
    return [
        checks.Warning(
            f"webhooks may reach networks that are not public: {names}",
            hint="leave WEBHOOK_ALLOWED_NETWORKS empty unless these networks contain receivers",
            id="config.W002",
        )
    ]
