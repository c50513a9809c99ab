"""Re-encrypt stored secrets."""

from typing import Any

from django.core.management.base import CommandError

from config.runtime.commands import RecordCommand, Records, progress
from webhooks.models import Endpoint
from webhooks.services.encryption import rotate


class Command(RecordCommand):
    help = (
        "Encrypt every stored secret with the newest key, which is the first of ENCRYPTION_KEYS. "
        "The command can be interrupted and run again. When it is done, the other keys can be "
        "removed."
    )

    def run(self, **_: Any) -> Records:
        """Re-encrypt every secret. Raises CommandError if any of them cannot be decrypted."""
        broken = done = 0
        try:
            for is_broken in progress(rotate(), total=Endpoint.objects.count(), unit="secrets"):
                broken, done = broken + is_broken, done + 1
        except KeyboardInterrupt:
            raise CommandError(f"stopped after {done}; run it again") from None
        if broken:
            raise CommandError(
                f"{broken} of {done} secrets cannot be decrypted with any of ENCRYPTION_KEYS: add "
                "the missing key, or replace the secrets of those webhooks"
            )
        yield {"secrets": done}
