"""The chatbots app: chatbots, their settings and their language models."""

from django.apps import AppConfig


class ChatbotsConfig(AppConfig):
    name = "chatbots"
