"""The webhooks app: how an event reaches its receiver."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "webhooks"
