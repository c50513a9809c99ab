"""The worker's tasks. They take ids and claims, return nothing, and are safe to run twice."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from config.runtime import periodic
from webhooks import notifications
from webhooks.engine import attempt, claims, schedule
from webhooks.engine.work import Claimed
from webhooks.services import retention, retry_job

if TYPE_CHECKING:
    from celery import Task

PRUNE = "prune deliveries"
TELL_OWNERS = "mail owners of failing webhooks"


@shared_task(bind=True)
def deliver(self: "Task[[str, str], None]", claim: str, delivery_id: str) -> None:
    """Make one attempt to send a delivery, if the claim still holds.

    Specification: Events, Delivery rules.
    """
    claimed = Claimed(UUID(delivery_id), UUID(claim))
    if not settings.SENDING:  # the task was published before sending was turned off
        claims.release([claimed])
        return
    if work := schedule.confirm(claimed, worker=self.request.hostname or ""):
        with claims.renewal.of(work.key):
            schedule.settle(work, attempt.send(work))


@periodic.periodic(PRUNE)
def prune() -> datetime:
    """Delete old deliveries once a day.

    If a run ends before all of them are deleted, the next run is due one minute after it began.
    """
    began = timezone.now()
    ended = periodic.run(retention.prune(began - timedelta(days=settings.WEBHOOK_RETENTION_DAYS)))
    return began + (timedelta(days=1) if ended else timedelta(minutes=1))


@periodic.periodic(TELL_OWNERS)
def tell_owners() -> datetime:
    """Email the owners of webhooks that keep failing or have recovered. Runs once a minute."""
    next_due = timezone.now() + timedelta(minutes=1)
    notifications.tell_owners()
    return next_due


@shared_task
def advance_retry_jobs() -> None:
    """Request the next attempts of running retry jobs, once a second.

    The jobs wait while sending is off. Otherwise, all of their retries would be sent together when
    sending resumes.
    """
    if settings.SENDING:
        retry_job.advance()
