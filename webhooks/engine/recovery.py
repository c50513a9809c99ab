"""What is made good after a fault: dead workers, lost messages, a clock that was set.

Like the schedule, it changes nothing without the claim that it has read.
"""

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from webhooks.engine.queue import keep_to_indexes, now
from webhooks.engine.schedule import NO_CLAIM
from webhooks.models import Attempt, Delivery
from webhooks.models.delivery import State

INTERRUPTIONS = 3  # the delivery, not the workers, is then taken to be the cause

logger = logging.getLogger(__name__)


def claimers() -> set[str]:
    """Name the workers that hold claims."""
    with transaction.atomic():
        keep_to_indexes()
        held = Delivery.objects.filter(claim__isnull=False).order_by()
        return set(held.values_list("claimed_by", flat=True).distinct())


def take_over(dead: set[str]) -> int:
    """Free the claims of dead workers and those that ran out.

    An attempt that had begun is marked as interrupted and made again at once, under its number;
    the third one ends the delivery. Returns how many claims ran out before anything began.
    """
    moment = now()
    gone = Q(claimed_by__in=dead) | Q(claimed_until__lt=moment)
    with transaction.atomic():
        keep_to_indexes()
        rows = list(Delivery.objects.filter(gone, claim__isnull=False).defer("body"))
    if not rows:
        return 0
    begun = {
        attempt.delivery_id: attempt
        for attempt in Attempt.objects.filter(delivery__in=rows, status=State.PENDING)
    }
    for row in rows:
        if attempt := begun.get(row.pk):
            _interrupt(row, attempt, moment)
        else:
            Delivery.objects.filter(pk=row.pk, claim=row.claim).update(**NO_CLAIM)
    return len([row for row in rows if row.pk not in begun and row.claimed_by not in dead])


def release_all(worker: str) -> None:
    """Give back whatever a worker has claimed and not begun: it is about to end."""
    rows = Delivery.objects.filter(claimed_by=worker, claim__isnull=False)
    rows.exclude(attempts__status=State.PENDING).update(**NO_CLAIM)


def follow_clock(jump: timedelta) -> None:
    """Move due times and leases along with this machine's clock, which was set.

    On PostgreSQL the clock is the database's, and this is not called.
    """
    moment, longest = now(), timedelta(seconds=max(settings.WEBHOOK_RETRY_DELAYS, default=0))
    if jump > timedelta(0):
        old = Q(due_at__gte=moment - jump, due_at__lt=moment)
    else:
        old = Q(due_at__gt=moment + longest)
    Delivery.objects.filter(old).update(due_at=F("due_at") + jump)
    Delivery.objects.filter(claim__isnull=False).update(claimed_until=F("claimed_until") + jump)


def _interrupt(row: Delivery, attempt: Attempt, moment: datetime) -> None:
    last = row.interruptions + 1 >= INTERRUPTIONS
    words = "interrupted three times" if last else "interrupted"
    with transaction.atomic():
        ours = Delivery.objects.filter(pk=row.pk, claim=row.claim).update(
            state=State.FAILED if last else State(row.state),
            due_at=None if last else moment,
            attempts_count=attempt.number if last else row.attempts_count,
            interruptions=row.interruptions + 1,
            last_error=words if last else row.last_error,
            updated_at=moment,
            **NO_CLAIM,
        )
        if not ours:
            return
        Attempt.objects.filter(pk=attempt.pk).update(
            status=State.FAILED if last else State.RETRYING,
            interrupted=True,
            error=words,
            finished_at=moment,
        )
    logger.warning("delivery %s: attempt %s was interrupted", row.pk, attempt.number)
