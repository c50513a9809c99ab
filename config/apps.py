"""The ground's app: system checks and the commands that span all apps."""

from django.apps import AppConfig
from django.core.checks import Tags, register

from config.runtime import checks


class ConfigConfig(AppConfig):
    """The ground."""

    name = "config"

    def ready(self) -> None:
        """Register the checks."""
        register(checks.cache_is_shared, Tags.caches)
        register(checks.networks_are_public, Tags.security, deploy=True)
        register(checks.demo_is_at_home, Tags.security, deploy=True)
