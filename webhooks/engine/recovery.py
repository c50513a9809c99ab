"""Recover from dead workers, expired claims, a changed clock and a restored backup.

A delivery is taken over only if its claim has not changed since the row was read.
"""

import logging
import time
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from config.database.claims import NO_CLAIM
from config.database.claims import claimers as claimers_of
from config.database.locks import left_if_locked, unlocked, update_unlocked
from webhooks.engine import metrics
from webhooks.engine.claims import START
from webhooks.engine.queue import keep_to_indexes, now
from webhooks.models import Attempt, Delivery, RetryJob, RetryPart
from webhooks.models.delivery import State
from webhooks.models.reason import Refusal
from webhooks.models.retry_job import JobState

# Includes the condition of the index `delivery_claimed` (`claimed_by > ''`), because the database
# uses this index only for queries that include its condition
HELD = Q(claimed_by__gt="", claim__isnull=False)
BATCH = 1_000  # number of deliveries that `give_up` marks as FAILED in one transaction
INTERRUPTIONS = 3  # after this many interruptions, the delivery is assumed to cause them

logger = logging.getLogger(__name__)


def claimers() -> set[str]:
    """Return the names of the workers that hold claims on deliveries."""
    with transaction.atomic():
        keep_to_indexes()
        return claimers_of(Delivery)


def take_over(dead: set[str], *, expired: bool = True) -> None:
    """Release the claims of dead workers and, if `expired` is true, claims that have expired.

    An attempt that had begun is marked as interrupted and is repeated immediately, with the same
    number. The third interruption makes the delivery FAILED.
    """
    current_time = now()
    gone = Q(claimed_by__in=dead)
    if expired:
        gone |= Q(claimed_until__lt=current_time)
    with transaction.atomic():
        keep_to_indexes()
        held = Delivery.objects.filter(HELD, gone).defer("body")
        rows = list(unlocked(held))  # a locked row is taken over later
    pending = Attempt.objects.filter(delivery__in=rows, status=State.PENDING)
    begun = {attempt.delivery_id: attempt for attempt in pending}
    for row in rows:
        with left_if_locked(f"the takeover of delivery {row.pk}"):
            _free(row, begun.get(row.pk), current_time)


def release_all(worker: str) -> None:
    """Release a stopping worker's claims whose attempts have not begun."""
    # An attempt that is just beginning has either locked its delivery or already extended its
    # claim, so it is not affected. An attempt whose result cannot be stored may have a claim that
    # is about to expire, so attempts that have begun are excluded explicitly.
    rows = Delivery.objects.filter(HELD, claimed_by=worker, claimed_until__lte=now() + START)
    begun = Attempt.objects.filter(delivery=OuterRef("pk"), status=State.PENDING)
    update_unlocked(rows.filter(~Exists(begun)), **NO_CLAIM)


def follow_clock(jump: timedelta, *, since: float) -> None:
    """Move due times and leases by `jump`, the amount by which this machine's clock was changed.

    `since` is the monotonic time at which the clock was last known to be unchanged. Due times and
    leases set later than `since` may already use the new clock, so they are left unchanged. On
    PostgreSQL, the engine uses the database's clock and never calls this function.
    """
    current_time = now()
    lately = (current_time - timedelta(seconds=time.monotonic() - since), current_time)
    claimed = Delivery.objects.filter(HELD)
    begun = Attempt.objects.filter(status=State.PENDING, started_at__range=lately)
    with transaction.atomic():
        waiting = Delivery.objects.filter(due_at__isnull=False).exclude(updated_at__range=lately)
        waiting.update(due_at=F("due_at") + jump)
        # Claims whose attempts have not begun are moved even if they are recent. If such a claim
        # then expires too early, the delivery is claimed again.
        old = claimed.exclude(pk__in=begun.filter(delivery__in=claimed).values("delivery"))
        old.update(claimed_until=F("claimed_until") + jump)


def give_up() -> None:
    """Stop all bulk retries. Deliveries that have a due time become FAILED without being sent.

    Stop all workers before calling this function. Each delivery gets a failed attempt that records
    the reason, because the last attempt of every FAILED delivery must have failed. The deliveries
    can still be retried, and the bulk retries can be resumed. See "Restore" in docs/deployment.md.
    """
    _stop_bulk_retries()
    due = Delivery.objects.filter(due_at__isnull=False).order_by("pk")
    while rows := list(due.only("attempts_count")[:BATCH]):
        current_time = now()
        # Any: column values of many types
        ended: dict[str, Any] = {"reason": Refusal.GIVEN_UP, "finished_at": current_time}
        with transaction.atomic():
            begun = Attempt.objects.filter(delivery__in=rows, finished_at=None)
            begun.update(status=State.RETRYING, interrupted=True, **ended)
            Attempt.objects.bulk_create(
                Attempt(
                    delivery=row,
                    number=row.attempts_count + 1,
                    status=State.FAILED,
                    started_at=current_time,
                    **ended,
                )
                for row in rows
            )
            Delivery.objects.filter(pk__in=[row.pk for row in rows]).update(
                state=State.FAILED,
                due_at=None,
                attempts_count=F("attempts_count") + 1,
                last_code=None,
                last_ms=None,
                last_reason=Refusal.GIVEN_UP,
                last_detail="",
                updated_at=current_time,
                **NO_CLAIM,
            )


def _stop_bulk_retries() -> None:
    """Stop all running jobs, in the same way as `stop` in webhooks/services/retry_job.py."""
    with transaction.atomic():
        RetryPart.objects.filter(is_active=True).update(is_active=False)
        RetryJob.objects.filter(state=JobState.RUNNING).update(
            state=JobState.STOPPED, stopped_by="an operator", updated_at=timezone.now()
        )


def _free(row: Delivery, attempt: Attempt | None, current_time: datetime) -> None:
    if attempt:
        _interrupt(row, attempt, current_time)
    else:
        Delivery.objects.filter(pk=row.pk, claim=row.claim).update(**NO_CLAIM)


def _interrupt(row: Delivery, attempt: Attempt, current_time: datetime) -> None:
    last = row.interruptions + 1 >= INTERRUPTIONS
    reason = Refusal.INTERRUPTED_TOO_OFTEN if last else Refusal.INTERRUPTED
    # Any: column values of many types
    columns: dict[str, Any] = {"due_at": current_time}
    if last:
        columns = {
            "state": State.FAILED,
            "due_at": None,
            "attempts_count": attempt.number,
            "last_code": None,
            "last_ms": None,
            "last_reason": reason,
            "last_detail": "",
        }
    with transaction.atomic():
        ours = Delivery.objects.filter(pk=row.pk, claim=row.claim).update(
            interruptions=row.interruptions + 1,
            updated_at=current_time,
            **columns,
            **NO_CLAIM,
        )
        if not ours:
            return
        Attempt.objects.filter(pk=attempt.pk).update(
            status=State.FAILED if last else State.RETRYING,
            interrupted=True,
            reason=reason,
            finished_at=current_time,
        )
    metrics.attempt_interrupted(last=last)
    logger.warning("delivery %s: attempt %s was interrupted", row.pk, attempt.number)
