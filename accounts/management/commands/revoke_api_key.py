"""Revoke an API key from the command line."""

from typing import Any

from django.core.management.base import CommandParser

from accounts.keys import prefix_of
from accounts.models import ApiKey
from accounts.services import api_key
from config.runtime.commands import RecordCommand, Records, find


class Command(RecordCommand):
    """`revoke_api_key PREFIX`."""

    help = "Revoke an API key, given its prefix or the whole key. It stops working immediately."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("prefix", metavar="PREFIX")

    def run(self, *, prefix: str, **_: Any) -> Records:
        key = find(ApiKey.objects.all(), prefix=prefix_of(prefix))
        api_key.revoke(key)
        yield {"prefix": key.prefix, "revokedAt": key.revoked_at}
