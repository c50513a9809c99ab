"""The config app: periodic work and the base of all other apps."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """The app of `config.models` and of the static files."""

    name = "config"
