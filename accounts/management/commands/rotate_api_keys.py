"""Replace working API keys with new ones."""

from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.db.models import Q

from accounts.models import Account, ApiKey, User
from accounts.models.api_key import ApiKeyQuerySet
from accounts.services import api_key
from config.api.strict_json import dumps
from config.runtime.commands import RecordCommand, Records, find, identifier, progress


def chosen(user: str | None, account: UUID | None) -> ApiKeyQuerySet:
    """Return a person's keys, the keys that give access to an account, or all keys.

    Raises CommandError if the person or the account does not exist.
    """
    if user is not None:  # an empty value must not select all keys
        return ApiKey.objects.filter(user=find(User.objects.all(), email__lower=user.lower()))
    if account is not None:
        found = find(Account.objects.all(), pk=account)
        here = Q(account=None) | Q(account=found)  # excludes keys bound to other accounts
        return ApiKey.objects.filter(here, user__in=User.objects.belonging_to([found]))
    return ApiKey.objects.all()


class Command(RecordCommand):
    """`rotate_api_keys (--user EMAIL | --account ID | --all) [--grace HOURS]`."""

    help = (
        "Replace working API keys with new ones. The old keys stop working after the grace period. "
        "Keys that an earlier rotation replaced are not replaced again, but they also stop working "
        "by the end of this grace period."
    )

    def arguments(self, parser: CommandParser) -> None:
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--user", metavar="EMAIL")
        whose.add_argument("--account", type=identifier, metavar="ID")
        whose.add_argument("--all", action="store_true")
        parser.add_argument(
            "--grace",
            type=float,
            default=0,
            metavar="HOURS",
            help="how long the old keys keep working (default: 0, so they expire immediately)",
        )

    def show_all(self, records: Records, *, as_json: bool) -> None:
        """Print the records, or with `as_json` an array, which is complete even after an error."""
        if not as_json:
            super().show_all(records, as_json=False)
            return
        separator = "["
        try:
            for record in records:
                self.write(separator + dumps(record).decode())
                separator = ","
        finally:
            self.write("[]\n" if separator == "[" else "]\n")

    def run(self, *, user: str | None, account: UUID | None, grace: float, **_: Any) -> Records:
        """Rotate the chosen keys. Yields a record for each new key, including its text."""
        if not 0 <= grace <= 8760:
            raise CommandError("--grace must be from 0 to 8760 hours")
        keys = chosen(user, account)
        api_key.shorten_grace(keys, grace_hours=grace)
        old = keys.replaceable().select_related("user", "account")
        if not old:
            self.stderr.write("no keys to replace were found")
        for key in progress(old, total=len(old), unit="keys"):
            with transaction.atomic():
                if made := api_key.replace(key, grace_hours=grace):
                    new, text = made
                    yield {
                        "email": new.user.email,
                        "label": new.label,
                        "prefix": new.prefix,
                        "apiKey": text,
                    }
