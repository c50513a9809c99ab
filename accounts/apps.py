"""The accounts app: callers, their permissions and their quotas."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
