"""Retry all FAILED deliveries that match a filter, as a stored job that workers carry out.

    start    store a job with one part per endpoint; an endpoint can have only one running job
    advance  request the next attempts, a little ahead of time, in the order of the events
    stop     request no more attempts; those already requested are still made
    resume   continue the job where it stopped

Each part stores the position of the last delivery examined. The position advances in the
transaction that requests the attempts, so no attempt is lost or repeated if a worker is killed.
Deliveries that are settled after the job has started are not part of it. Specification: Events,
Delivery rules, 3.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from chatbots.models import Chatbot
from config.database.lengths import SHORT
from config.database.locks import left_if_locked, unlocked_keys, update_unlocked
from webhooks.engine import queue, schedule
from webhooks.models import Delivery, RetryJob, RetryPart
from webhooks.models.delivery import State
from webhooks.models.retry_job import JobState
from webhooks.services.retry import retryable
from webhooks.services.selection import Selection

AHEAD = timedelta(seconds=3)  # attempts are requested this long before they are due
COUNTED = 10_000  # maximum number of matching deliveries to count


class NotStarted(ValueError):
    """Raised when a job cannot be started or resumed. The message says why."""


@dataclass(frozen=True)
class Plan:
    """What a job would retry."""

    count: int  # COUNTED + 1 if more than COUNTED deliveries match
    oldest: datetime | None
    newest: datetime | None
    endpoints: list[tuple[UUID, str]]  # chatbots, with their names


def plan(selection: Selection, chatbots: Collection[UUID] | None) -> Plan:
    """Return what a job would retry. `chatbots=None` means all."""
    rows = _within(retryable(selection.rows()), chatbots)
    times = rows.values_list("created_at", flat=True)
    return Plan(
        count=rows.values("pk")[: COUNTED + 1].count(),
        oldest=times.order_by("created_at", "id").first(),
        newest=times.order_by("-created_at", "-id").first(),
        endpoints=list(_endpoints(selection, chatbots).values_list("pk", "name")),
    )


class Outcome(NamedTuple):
    """How many of a job's retries have succeeded, have failed again, and still wait."""

    succeeded: int = 0
    failed: int = 0
    waiting: int = 0


def outcomes(job: RetryJob) -> dict[UUID, Outcome]:
    """Return the outcome for each chatbot. Deliveries that were retried again do not count."""
    waits = Q(due_at__isnull=False) | Q(claim__isnull=False)
    rows = Delivery.objects.filter(retry_job=job.pk).order_by().values_list("chatbot")
    counted = rows.annotate(
        succeeded=Count("pk", filter=Q(state=State.SUCCESS)),
        failed=Count("pk", filter=Q(state=State.FAILED) & ~waits),
        waiting=Count("pk", filter=Q(state=State.FAILED) & waits),
    )
    return {chatbot: Outcome(*counts) for chatbot, *counts in counted}


def successes(jobs: Iterable[RetryJob]) -> dict[UUID, int]:
    """Return how many of each job's retries have succeeded. Jobs without any are left out."""
    rows = Delivery.objects.filter(retry_job__in=[job.pk for job in jobs], state=State.SUCCESS)
    return dict(rows.order_by().values_list("retry_job").annotate(Count("pk")))


def start(
    selection: Selection, chatbots: Collection[UUID] | None, *, per_second: int, by: str
) -> RetryJob:
    """Store a job for the workers to carry out. Raises NotStarted."""
    planned = plan(selection, chatbots)
    if not planned.endpoints:
        raise NotStarted("no FAILED deliveries match")
    try:
        with transaction.atomic():
            job = RetryJob.objects.create(
                by=by[:SHORT],
                filter=selection.as_json(),
                per_second=per_second,
                failed_before=queue.now(),
                expected=planned.count,
            )
            RetryPart.objects.bulk_create(
                RetryPart(job=job, chatbot_id=chatbot) for chatbot, _ in planned.endpoints
            )
    except IntegrityError:
        raise NotStarted(_running_elsewhere([key for key, _ in planned.endpoints])) from None
    return job


def stop(job: RetryJob, *, by: str) -> bool:
    """Stop a job, so that it requests nothing more. Returns False if it is not running."""
    with transaction.atomic():
        _lock_parts(job)
        running = RetryJob.objects.filter(pk=job.pk, state=JobState.RUNNING)
        stopped = running.update(
            state=JobState.STOPPED, stopped_by=by[:SHORT], updated_at=timezone.now()
        )
        if stopped:
            RetryPart.objects.filter(job=job).update(is_active=False)
    return bool(stopped)


def resume(job: RetryJob) -> None:
    """Continue a stopped job from where it stopped. Raises NotStarted."""
    remaining = RetryPart.objects.filter(job=job, is_done=False)
    try:
        with transaction.atomic():
            _lock_parts(job)
            stopped = RetryJob.objects.filter(pk=job.pk, state=JobState.STOPPED)
            if stopped.update(state=JobState.RUNNING, stopped_by="", updated_at=timezone.now()):
                remaining.update(is_active=True)
    except IntegrityError:
        raise NotStarted(_running_elsewhere(remaining.values_list("chatbot", flat=True))) from None


def _lock_parts(job: RetryJob) -> None:
    """Lock a job's parts, always in the same order and before the job, to avoid deadlocks."""
    parts = RetryPart.objects.select_for_update().filter(job=job).order_by("pk")
    list(parts.values_list("pk", flat=True))


def is_running() -> bool:
    """Return whether any job is in progress."""
    return RetryJob.objects.filter(state=JobState.RUNNING).exists()


def advance() -> None:
    """Request the next attempts of all running jobs, and mark completed jobs as done."""
    running = RetryPart.objects.filter(is_active=True, job__state=JobState.RUNNING)
    for part in running.select_related("job").order_by("pk"):
        with left_if_locked(f"retry job {part.job_id}"):
            _advance(part)
    remaining = RetryPart.objects.filter(job=OuterRef("pk"), is_done=False)
    update_unlocked(
        RetryJob.objects.filter(~Exists(remaining), state=JobState.RUNNING),
        state=JobState.DONE,
        finished_at=timezone.now(),
        updated_at=timezone.now(),
    )


def _advance(part: RetryPart) -> None:
    """Request an endpoint's next attempts.

    Does nothing if the part was stopped, advanced or locked after it was read.
    """
    current_time, rate = queue.now(), part.job.per_second
    begins = max(part.next_due or current_time, current_time)
    if begins > current_time + AHEAD:  # the clock was set back
        begins = current_time
    room = int((current_time + AHEAD - begins).total_seconds() * rate)
    if room < 1:
        return
    # Read before the transaction, because on SQLite a transaction blocks all other writes.
    found = list(_remaining(part)[:room])
    with transaction.atomic():
        held = RetryPart.objects.filter(pk=part.pk, is_active=True, place_id=part.place_id)
        if not unlocked_keys(held):
            return
        made = 0
        for n, (key, _) in enumerate(found):
            due_at = begins + timedelta(seconds=n / rate)
            made += schedule.retry([key], by=part.job.by, due_at=due_at, job=part.job_id)
        last_id, last_at = found[-1] if found else (part.place_id, part.place_at)
        held.update(
            place_id=last_id,
            place_at=last_at,
            retried=F("retried") + made,
            next_due=begins + timedelta(seconds=len(found) / rate),
            is_done=len(found) < room,
            is_active=len(found) == room,
        )


def _remaining(part: RetryPart) -> "QuerySet[Delivery, tuple[UUID, datetime]]":
    """Select an endpoint's retryable deliveries after the part's position, in event order."""
    rows = retryable(Selection.from_json(part.job.filter).rows()).filter(
        failed_of=part.chatbot_id, updated_at__lte=part.job.failed_before
    )
    if part.place_at and part.place_id:
        later = Q(created_at__gt=part.place_at) | Q(pk__gt=part.place_id)
        rows = rows.filter(later, created_at__gte=part.place_at)
    return rows.order_by("created_at", "id").values_list("pk", "created_at")


def _within(rows: "QuerySet[Delivery]", chatbots: Collection[UUID] | None) -> "QuerySet[Delivery]":
    if chatbots is None:
        return rows.filter(failed_of__isnull=False)
    return rows.filter(failed_of__in=chatbots)


def _endpoints(selection: Selection, chatbots: Collection[UUID] | None) -> "QuerySet[Chatbot]":
    rows = retryable(selection.rows()).filter(failed_of=OuterRef("pk"))
    found = Chatbot.objects.filter(Exists(rows)).order_by("name", "id")
    if selection.chatbot:
        found = found.filter(pk=selection.chatbot)
    return found if chatbots is None else found.filter(pk__in=chatbots)


def _running_elsewhere(chatbots: Iterable[UUID]) -> str:
    parts = RetryPart.objects.filter(is_active=True, chatbot__in=list(chatbots))
    first = parts.select_related("job", "chatbot").first()
    if first is None:
        return "a chatbot was deleted, or another bulk retry ended, in the meantime: try again"
    starter, chatbot = first.job.by, first.chatbot
    return f"a bulk retry started by {starter} is already running for the webhook of {chatbot}"
