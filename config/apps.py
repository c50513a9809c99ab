"""The config app: system checks, periodic work and the base of all other apps."""

from django.apps import AppConfig, apps
from django.core.checks import Tags, register

from config.audited import AUDITED
from config.runtime import checks


class ConfigConfig(AppConfig):
    """Configure the app: register the system checks and the audited models."""

    name = "config"

    def ready(self) -> None:
        """Register the system checks and the audited models."""
        register(checks.cache_is_shared, Tags.caches)
        register(checks.networks_are_public, Tags.security, deploy=True)
        from config.database import trail  # django-auditlog needs all models to be loaded

        trail.audit(apps.get_model(label) for label in AUDITED)
