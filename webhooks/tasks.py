"""The worker's tasks. They take ids and claims, return nothing, and are safe to run twice."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from config.runtime import periodic
from webhooks import notifications
from webhooks.engine import attempt, claims, metrics, schedule
from webhooks.engine.work import Claimed, Work
from webhooks.services import retention, retry_job

if TYPE_CHECKING:
    from celery import Task

PRUNE = "prune deliveries"
TELL_OWNERS = "mail owners of failing webhooks"

# A task's first attempt runs on the task's own thread, and its other attempts run on these.
_threads = ThreadPoolExecutor(settings.WORKER_CONCURRENCY, thread_name_prefix="attempt")


@shared_task(bind=True)
def deliver(self: "Task[..., None]", claim: str, *delivery_ids: str) -> None:
    """Make one attempt to send each delivery, all at the same time, if the claim still holds.

    Specification: Events, Delivery rules.
    """
    claimed = Claimed(UUID(claim), [UUID(one) for one in delivery_ids])
    if not settings.SENDING:  # the task was published before sending was turned off
        claims.release(claimed)
        return
    works = schedule.confirm(claimed, worker=self.request.hostname or "")
    others = [_threads.submit(_make_beside, work) for work in works[1:]]
    for work in works[:1]:
        _make(work)
    for other in others:
        other.result()


def _make(work: Work) -> None:
    with claims.renewal.of(work.key):
        schedule.settle(work, attempt.send(work))


def _make_beside(work: Work) -> None:
    with metrics.BUSY.track_inprogress():  # the task itself is counted, too
        _make(work)


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
