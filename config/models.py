"""Periodic work and its schedule.

There is no scheduler process. A worker's dispatcher claims due work, as it does with deliveries.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone

LEASE = timedelta(minutes=30)  # unfinished work is begun again after this


class PeriodicWorkQuerySet(models.QuerySet["PeriodicWork"]):
    """Add, claim, release and finish periodic work."""

    def add(self, names: Iterable[str]) -> None:
        """Create the missing rows, due at once."""
        self.bulk_create(
            [self.model(name=name, due_at=timezone.now()) for name in names], ignore_conflicts=True
        )

    def claim(self) -> list[str]:
        """Claim due work for the length of a lease. Returns the names."""
        now = timezone.now()
        free = models.Q(claimed_until=None) | models.Q(claimed_until__lt=now)
        due = self.filter(free, due_at__lte=now).values_list("name", flat=True)
        return [
            name
            for name in due
            if self.filter(free, name=name, due_at__lte=now).update(claimed_until=now + LEASE)
        ]

    def release(self, name: str) -> None:
        """Give back a claim whose work has not begun."""
        self.filter(name=name).update(claimed_until=None)

    def finish(self, name: str, *, next_due: datetime) -> None:
        """Release the claim of completed work and set its next due time."""
        self.filter(name=name).update(claimed_until=None, due_at=next_due)


class PeriodicWork(models.Model):
    """One kind of periodic work, its next due time and its claim."""

    name = models.CharField(max_length=50, primary_key=True)
    due_at = models.DateTimeField()
    claimed_until = models.DateTimeField(null=True)

    objects = PeriodicWorkQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "periodic work"

    def __str__(self) -> str:
        return self.name
