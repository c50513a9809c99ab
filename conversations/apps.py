"""The conversations app: threads, messages, leads and the admin inbox."""

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "conversations"
