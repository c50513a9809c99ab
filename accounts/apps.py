"""The accounts app: who calls, what they may, how much."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Accounts."""

    name = "accounts"
