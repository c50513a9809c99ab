"""Periodic work and its schedule.

There is no scheduler process. A worker's dispatcher claims due work in the same way as it claims
deliveries. A claim is a token with a lease, and only its holder can finish the work. A dead
worker's claims are released as soon as its death is noticed, long before the lease expires.
"""

import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.db import models
from django.utils import timezone

from config.database.claims import NO_CLAIM
from config.database.locks import insist, update_unlocked

LEASE = timedelta(minutes=30)  # work that takes longer is considered abandoned and is started again
LONGEST = timedelta(days=1)  # longest interval of periodic work


class PeriodicWorkQuerySet(models.QuerySet["PeriodicWork"]):
    """Add, claim, release and finish periodic work."""

    def add(self, names: Iterable[str]) -> None:
        """Create the rows that do not exist yet. Their work is due immediately."""
        self.bulk_create(
            [self.model(name=name, due_at=timezone.now()) for name in names], ignore_conflicts=True
        )

    def claim(self, worker: str = "") -> list[tuple[str, str]]:
        """Claim due work for the named worker. Returns the names and claims of the claimed work."""
        now, token = timezone.now(), uuid4()
        free = models.Q(claimed_until=None) | _has_passed("claimed_until", now, most=LEASE)
        due = self.filter(free, _has_passed("due_at", now, most=LONGEST))
        claimed = {"claim": token, "claimed_by": worker, "claimed_until": now + LEASE}
        return [
            (name, str(token))
            for name in due.values_list("name", flat=True)
            if update_unlocked(due.filter(name=name), **claimed)
        ]

    def release(self, name: str, claim: str) -> None:
        """Give back a claim whose work has not started."""
        self.filter(name=name, claim=UUID(claim)).update(**NO_CLAIM)

    def finish(self, name: str, claim: str, *, next_due: datetime) -> bool:
        """Set the next due time of completed work. Returns False if the claim was lost.

        Retries while the row is locked or the database does not respond, because work that is not
        marked as finished is done again.
        """
        held = self.filter(name=name, claim=UUID(claim))
        until = time.monotonic() + LEASE.total_seconds()
        columns = NO_CLAIM | {"due_at": next_due}
        return bool(insist(lambda: held.update(**columns), until=until, what=f'"{name}"'))


def _has_passed(name: str, now: datetime, *, most: timedelta) -> models.Q:
    """Match rows whose time has passed, or is so far ahead that the clock must have been set back.

    `most` is how far in the future a time can be when it is stored.
    """
    return models.Q(**{f"{name}__lte": now}) | models.Q(**{f"{name}__gt": now + 2 * most})


class PeriodicWork(models.Model):
    """One kind of periodic work, its next due time and its claim."""

    name = models.CharField(max_length=50, primary_key=True)
    due_at = models.DateTimeField()
    claim = models.UUIDField(null=True)  # fencing token: only its holder may finish the work
    claimed_by = models.CharField(max_length=20, blank=True)  # the worker's name in `liveness`
    claimed_until = models.DateTimeField(null=True)

    objects = PeriodicWorkQuerySet.as_manager()

    class Meta:
        verbose_name = "kind of periodic work"
        verbose_name_plural = "kinds of periodic work"

    def __str__(self) -> str:
        return self.name
