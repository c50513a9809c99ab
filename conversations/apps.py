"""The conversations app: what is said."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    """Conversations."""

    name = "conversations"
