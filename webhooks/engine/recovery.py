"""Recover from expired claims and a restored backup.

A delivery is freed only if its claim has not changed since the row was read.
"""

import logging
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from config.database.claims import has_expired
from config.database.locks import left_if_locked, unlocked, update_unlocked
from webhooks.engine import metrics
from webhooks.engine.claims import NO_CLAIM
from webhooks.engine.queue import keep_to_indexes, now
from webhooks.models import Attempt, Delivery, RetryJob, RetryPart
from webhooks.models.delivery import State
from webhooks.models.reason import Refusal
from webhooks.models.retry_job import JobState

BATCH = 1_000  # number of deliveries that `give_up` marks as FAILED in one transaction
INTERRUPTIONS = 3  # after this many interruptions, the delivery is assumed to cause them
CLAIMED = Q(running_of__isnull=False)

logger = logging.getLogger(__name__)


def free_expired() -> None:
    """Release the claims whose leases have expired.

    An attempt that had begun is marked as interrupted and is repeated immediately, with the same
    number. The third interruption makes the delivery FAILED.
    """
    with transaction.atomic():
        keep_to_indexes()
        held = Delivery.objects.filter(CLAIMED, has_expired()).defer("body")
        rows = list(unlocked(held))  # a locked row is freed later
    pending = Attempt.objects.filter(delivery__in=rows, status=State.PENDING) if rows else ()
    begun = {attempt.delivery_id: attempt for attempt in pending}
    for row in rows:
        with left_if_locked(f"the takeover of delivery {row.pk}"):
            _free(row, begun.get(row.pk), now())


def release_unstarted() -> None:
    """Release all claims whose attempts have not begun."""
    update_unlocked(Delivery.objects.filter(CLAIMED, claimed_by=""), **NO_CLAIM)


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
