"""The webhooks app, which delivers events to their receivers."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "webhooks"
