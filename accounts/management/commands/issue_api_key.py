"""Issue an API key from the command line."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from accounts.models import ApiKey, User
from accounts.services import api_key
from accounts.services.user import check_active
from config.runtime.commands import RecordCommand, Records, find, positive

LABEL = ApiKey._meta.get_field("label").max_length or 0


class Command(RecordCommand):
    """`issue_api_key EMAIL`."""

    help = "Issue an API key and print it. It cannot be shown again."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument("--label", default="", metavar="TEXT")
        parser.add_argument("--expires", type=positive, metavar="DAYS")

    def run(self, *, email: str, label: str, expires: int | None, **_: Any) -> Records:
        """Issue the key. Yields a record that includes the key's text."""
        if len(label) > LABEL:
            raise CommandError(f"--label takes at most {LABEL} characters")
        user = find(User.objects.all(), email__lower=email.lower())
        try:
            check_active(user)
        except ValueError as error:
            raise CommandError(str(error)) from None
        with transaction.atomic():
            key, text = api_key.issue(user, label=label, days=expires)
            yield {
                "email": user.email,
                "label": key.label,
                "prefix": key.prefix,
                "apiKey": text,
                "expiresAt": key.expires_at,
            }
