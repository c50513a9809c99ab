"""Periodic work with its schedule, and the workers that are running.

Celery's beat is not used. A worker's scheduler claims due work in the same way as it claims
deliveries, and publishes its task. Only the holder of the claim can finish the work.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from config.database.claims import NO_CLAIM, has_expired, lease_end
from config.database.locks import update_unlocked

LONGEST = timedelta(days=1)  # longest interval of periodic work
SEEN_EVERY = 5.0  # seconds between a worker's updates of its row
ALIVE = timedelta(seconds=15)  # a worker that has not updated its row for longer is dead


class PeriodicWorkQuerySet(models.QuerySet["PeriodicWork"]):
    """Add, claim, release and finish periodic work."""

    def add(self, names: Iterable[str]) -> None:
        """Create the rows that do not exist yet. Their work is due immediately."""
        self.bulk_create(
            [self.model(name=name, due_at=timezone.now()) for name in names], ignore_conflicts=True
        )

    def claim(self) -> list[tuple[str, str]]:
        """Claim due work. Returns the names and claims of the claimed work."""
        now, token = timezone.now(), uuid4()
        # A due time that is too far ahead shows that the clock was set back.
        is_due = models.Q(due_at__lte=now) | models.Q(due_at__gt=now + 2 * LONGEST)
        due = self.filter(models.Q(claimed_until=None) | has_expired(), is_due)
        return [
            (name, str(token))
            for name in due.values_list("name", flat=True)
            if update_unlocked(due.filter(name=name), claim=token, claimed_until=lease_end())
        ]

    def release(self, name: str, claim: str) -> None:
        """Give back a claim whose work has not started."""
        self.filter(name=name, claim=UUID(claim)).update(**NO_CLAIM)

    def confirm(self, name: str, claim: UUID) -> UUID | None:
        """Start work: replace its claim, so that a duplicate of its task does nothing.

        Returns the new claim, or None if the claim was lost.
        """
        token = uuid4()
        held = self.filter(name=name, claim=claim)
        return token if held.update(claim=token, claimed_until=lease_end()) else None

    def finish(self, name: str, claim: UUID, *, next_due: datetime) -> bool:
        """Set the next due time of completed work. Returns False if the claim was lost.

        If this fails, the lease expires, and the work is done again.
        """
        return bool(self.filter(name=name, claim=claim).update(**NO_CLAIM, due_at=next_due))


class PeriodicWork(models.Model):
    """One kind of periodic work, its next due time and its claim."""

    name = models.CharField(max_length=50, primary_key=True)
    due_at = models.DateTimeField()
    claim = models.UUIDField(null=True)  # fencing token: only its holder may finish the work
    claimed_until = models.DateTimeField(null=True)

    objects = PeriodicWorkQuerySet.as_manager()

    class Meta:
        verbose_name = "background job"
        verbose_name_plural = "background jobs"

    def __str__(self) -> str:
        return self.name


class WorkerQuerySet(models.QuerySet["Worker"]):
    """Register workers, and find those that are alive."""

    def see(self, name: str, threads: int) -> None:
        """Record that a worker is alive, and forget dead workers."""
        self.update_or_create(name=name, defaults={"threads": threads, "seen_at": Now()})
        self.filter(seen_at__lt=Now() - ALIVE).delete()

    def alive(self) -> "WorkerQuerySet":
        """Select the workers that have recently updated their rows."""
        return self.filter(seen_at__gte=Now() - ALIVE)


class Worker(models.Model):
    """A running Celery worker and its number of threads."""

    name = models.CharField(max_length=255, primary_key=True)
    threads = models.PositiveIntegerField()
    seen_at = models.DateTimeField()

    objects = WorkerQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name
