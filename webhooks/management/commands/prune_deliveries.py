"""Delete old deliveries."""

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.runtime.commands import RecordCommand, Records, positive, progress
from webhooks.services.retention import BATCH, prunable, prune


class Command(RecordCommand):
    """`prune_deliveries --older-than DAYS`."""

    help = "Delete old deliveries, in batches. Deliveries that still have to be sent are kept."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--older-than",
            type=positive,
            required=True,
            metavar="DAYS",
            help="age in days, from 1 to 100000",
        )

    def run(self, *, older_than: int, **_: Any) -> Records:
        """Delete the deliveries batch by batch, and yield their number."""
        before = timezone.now() - timedelta(days=older_than)
        batches = -(-prunable(before).count() // BATCH)
        deleted = 0
        try:
            for size in progress(prune(before), total=batches, unit="batches"):
                deleted += size
        except KeyboardInterrupt:
            raise CommandError(f"stopped; {deleted} were deleted") from None
        yield {"deleted": deleted}
