"""The chatbots app: what a bot is."""

from django.apps import AppConfig


class ChatbotsConfig(AppConfig):
    """Chatbots."""

    name = "chatbots"
