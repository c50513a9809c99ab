"""Configure a chatbot's webhook."""

from argparse import ArgumentTypeError
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from chatbots.models import Chatbot
from config.runtime.commands import RecordCommand, Records, find, identifier
from webhooks import signing
from webhooks.management.secret import secret_given
from webhooks.services.endpoint import ConfigurationError, configure


def names(text: str) -> list[str]:
    """Parse names separated by commas. Raises ArgumentTypeError."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise ArgumentTypeError("expected names separated by commas, such as NEW_MESSAGE,NEW_LEAD")
    return found


class Command(RecordCommand):
    """`configure_webhook CHATBOT_ID --url URL`."""

    help = (
        "Create or replace a chatbot's webhook, and switch it on. Unless a secret is given or "
        "kept, a new secret is generated and printed. It cannot be shown again."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("chatbot", type=identifier, metavar="CHATBOT_ID")
        parser.add_argument("--url", required=True, metavar="URL")
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--secret",
            metavar="TEXT",
            help=f"at least {signing.MIN_LENGTH} characters; use - to read from standard input",
        )
        which.add_argument("--keep-secret", action="store_true", help="keep the current secret")
        parser.add_argument(
            "--events",
            type=names,
            metavar="A,B",
            help="default: all events, even if fewer were chosen before",
        )

    def run(
        self,
        *,
        chatbot: UUID,
        url: str,
        secret: str | None,
        keep_secret: bool,
        events: list[str] | None,
        **_: Any,
    ) -> Records:
        """Configure the webhook. Yields its record, with the secret if one was generated."""
        found = find(Chatbot.objects.all(), pk=chatbot)
        given = secret_given(secret)
        with transaction.atomic():
            try:
                endpoint, made = configure(
                    found,
                    url=url,
                    secret=given,
                    events=events,
                    keep_secret=keep_secret,
                    by="configure_webhook",
                )
            except ConfigurationError as error:
                raise CommandError(": ".join([*error.path, str(error)])) from None
            record = {
                "chatbotId": endpoint.chatbot_id,
                "url": endpoint.url,
                "events": endpoint.events,
                "isActive": endpoint.is_active,
                "maskedSecret": endpoint.masked_secret,
            }
            yield record | ({"secret": made} if made else {})
