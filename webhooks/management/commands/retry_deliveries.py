"""Request one more attempt for each FAILED delivery that matches the options."""

from argparse import ArgumentTypeError
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from chatbots.models import Chatbot
from config.runtime.commands import RecordCommand, Records, find, identifier, progress
from webhooks.payloads import Event
from webhooks.services.retry import BATCH, erased, retry_slowly, retryable
from webhooks.services.selection import Selection


def timestamp(text: str) -> datetime:
    """Parse an ISO 8601 time, assuming UTC if it has no time zone. Raises ArgumentTypeError."""
    try:
        read = datetime.fromisoformat(text)
        return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # conversion to UTC can result in the year 0 or 10000
        raise ArgumentTypeError(f"{text!r} is not a time such as 2030-01-31T12:00:00Z") from None


class Command(RecordCommand):
    """`retry_deliveries [--failed] [--chatbot ID] [--since ISO] [--event NAME]`."""

    help = (
        "Retry FAILED deliveries once, about 10 a second for each webhook. Test deliveries and "
        "deliveries whose content was erased are skipped."
    )

    def arguments(self, parser: CommandParser) -> None:
        events = [event.value for event in Event]
        parser.add_argument(
            "--failed",
            action="store_true",
            help="has no effect, because only FAILED deliveries are ever retried",
        )
        parser.add_argument("--chatbot", type=identifier, metavar="ID", help="only this chatbot")
        parser.add_argument(
            "--since",
            type=timestamp,
            metavar="ISO",
            help="only events since this time, such as 2030-01-31T12:00:00Z (default zone: UTC)",
        )
        parser.add_argument(
            "--event",
            choices=events,
            metavar="NAME",
            help=f"only this event: {', '.join(events[:-1])} or {events[-1]}",
        )

    def run(
        self, *, chatbot: UUID | None, since: datetime | None, event: str | None, **_: Any
    ) -> Records:
        """Request the attempts. A worker makes them.

        Raises CommandError while sending is off, because the retries would all be sent at once when
        sending resumes.
        """
        if not settings.SENDING:
            raise CommandError("nothing is retried while SENDING=off; try again when it is on")
        if chatbot:
            find(Chatbot.objects.all(), pk=chatbot)
        chosen = Selection(chatbot=chatbot, since=since, event=event or "").rows()
        if left_out := erased(chosen).count():
            self.stderr.write(f"{left_out} cannot be retried: their content was erased")
        batches = -(-retryable(chosen).count() // BATCH)
        retried = 0
        try:
            for made in progress(
                retry_slowly(chosen, by="retry_deliveries"), total=batches, unit="batches"
            ):
                retried += made
        except KeyboardInterrupt:
            raise CommandError(
                f"stopped; {retried} will be retried, but the remaining deliveries will not"
            ) from None
        yield {"retried": retried}
