"""The daily check of the ledger: how far it has come, and what the last complete one found."""

from uuid import UUID

from django.db import models
from django.utils import timezone

START = UUID(int=0)


class LedgerCheck(models.Model):
    """The only row: the check that is under way, and the result of the last one that ended."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    table = models.PositiveSmallIntegerField(default=0)  # the place in the ledger's tables
    after = models.UUIDField(default=START)  # the last row of that table that was checked
    found = models.JSONField(default=dict)  # gaps by kind, so far
    gaps = models.JSONField(default=dict)  # gaps by kind, of the last complete check
    finished_at = models.DateTimeField(null=True)  # the last complete check

    def __str__(self) -> str:
        return f"{sum(self.gaps.values())} gaps"

    @classmethod
    def last(cls) -> "LedgerCheck | None":
        """Return the row, if a check has begun."""
        return cls.objects.first()

    def finish(self) -> None:
        """Keep the result of a complete check, and begin at the start next time."""
        self.gaps, self.found = self.found, {}
        self.table, self.after = 0, START
        self.finished_at = timezone.now()
        self.save()
