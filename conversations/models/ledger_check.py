"""The daily check of the ledger: its progress, and what the last complete check found."""

from uuid import UUID

from django.db import models
from django.utils import timezone

START = UUID(int=0)


class LedgerCheck(models.Model):
    """The table's only row: the current check's state, and the last complete check's result."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    table = models.PositiveSmallIntegerField(default=0)  # the index in ledger.TABLES
    after = models.UUIDField(default=START)  # the last row checked in that table
    found = models.JSONField(default=dict)  # gaps found so far, by kind
    gaps = models.JSONField(default=dict)  # gaps found by the last complete check, by kind
    finished_at = models.DateTimeField(null=True)  # when the last complete check ended

    def __str__(self) -> str:
        return f"{sum(self.gaps.values())} gaps"

    @classmethod
    def last(cls) -> "LedgerCheck | None":
        """Return the row, or None if no check has started yet."""
        return cls.objects.first()

    def finish(self) -> None:
        """Store the result of a complete check, and reset the position for the next one."""
        self.gaps, self.found = self.found, {}
        self.table, self.after = 0, START
        self.finished_at = timezone.now()
        self.save()
