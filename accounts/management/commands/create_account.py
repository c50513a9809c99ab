"""Create an account from the command line."""

from argparse import ArgumentTypeError
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.core.validators import validate_email

from accounts.models import Plan
from accounts.services.account import create_account
from config.database.lengths import SHORT
from config.runtime.commands import RecordCommand, Records


def email(text: str) -> str:
    """Check an email address. Raises ArgumentTypeError."""
    try:
        validate_email(text)
    except ValidationError:
        raise ArgumentTypeError(f"{text!r} is not an email address") from None
    if len(text) > SHORT:
        raise ArgumentTypeError(f"an email address must have at most {SHORT} characters")
    return text


class Command(RecordCommand):
    """`create_account NAME --owner EMAIL --plan PLAN`."""

    help = "Create an account, and its owner if needed."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--owner", required=True, type=email, metavar="EMAIL")
        parser.add_argument("--plan", required=True, metavar="PLAN")

    def run(self, *, name: str, owner: str, plan: str, **_: Any) -> Records:
        """Create the account, and its owner if needed."""
        if not name.strip():
            raise CommandError("an account's name must not be blank")
        if len(name) > SHORT:
            raise CommandError(f"an account's name must have at most {SHORT} characters")
        found = Plan.objects.filter(name__iexact=plan).first()
        if found is None:
            known = ", ".join(Plan.objects.values_list("name", flat=True))
            raise CommandError(f"no plan {plan}; known plans: {known}")
        try:
            account = create_account(name=name, owner_email=owner, plan=found)
        except ValueError as error:
            raise CommandError(str(error)) from None
        yield {
            "accountId": account.pk,
            "accountName": account.name,
            "plan": found.name,
            "ownerId": account.owner_id,
            "ownerEmail": account.owner.email,
        }
