"""The config app: the audited models, periodic work, and the base of all other apps."""

from django.apps import AppConfig, apps

from config.audited import AUDITED


class ConfigConfig(AppConfig):
    """The app of `config.models` and of the static files."""

    name = "config"

    def ready(self) -> None:
        """Register the audited models."""
        from config.database import trail  # django-auditlog needs all models to be loaded

        trail.audit(apps.get_model(label) for label in AUDITED)
