"""Periodic work: what has to be done again and again, and when it is due next.

There is no clock process: a worker's dispatcher claims what is due, as it does with deliveries.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone

LEASE = timedelta(minutes=30)  # what was not finished by then is begun again


class PeriodicWorkQuerySet(models.QuerySet["PeriodicWork"]):
    """Periodic work by what is to be done with it."""

    def add(self, names: Iterable[str]) -> None:
        """Make the rows that are missing, due at once."""
        self.bulk_create(
            [self.model(name=name, due_at=timezone.now()) for name in names], ignore_conflicts=True
        )

    def claim(self) -> list[str]:
        """Claim what is due, for the length of a lease. Returns the names."""
        now = timezone.now()
        free = models.Q(claimed_until=None) | models.Q(claimed_until__lt=now)
        due = self.filter(free, due_at__lte=now).values_list("name", flat=True)
        return [
            name
            for name in due
            if self.filter(free, name=name, due_at__lte=now).update(claimed_until=now + LEASE)
        ]

    def release(self, name: str) -> None:
        """Give a claim back: nobody has begun."""
        self.filter(name=name).update(claimed_until=None)

    def finish(self, name: str, *, next_due: datetime) -> None:
        """Note that it was done."""
        self.filter(name=name).update(claimed_until=None, due_at=next_due)


class PeriodicWork(models.Model):
    """One kind of periodic work."""

    name = models.CharField(max_length=50, primary_key=True)
    due_at = models.DateTimeField()
    claimed_until = models.DateTimeField(null=True)

    objects = PeriodicWorkQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "periodic work"

    def __str__(self) -> str:
        return self.name
