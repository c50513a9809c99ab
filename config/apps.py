"""The config app: system checks, periodic work and the base of all other apps."""

from django.apps import AppConfig
from django.core.checks import Tags, register

from config.runtime import checks


class ConfigConfig(AppConfig):
    """Configure the app and register its system checks."""

    name = "config"

    def ready(self) -> None:
        """Register the system checks."""
        register(checks.cache_is_shared, Tags.caches)
        register(checks.networks_are_public, Tags.security, deploy=True)
        register(checks.demo_is_at_home, Tags.security, deploy=True)
