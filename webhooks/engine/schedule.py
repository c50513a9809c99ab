"""Keep the schedule, which is the state of each delivery and the due time of its next attempt.

    confirm  begin a task: replace its claim, so that a duplicate of the task cannot begin
    settle   end a task: record its attempt, the delivery's next state and the receiver's health
    retry    request one more attempt for a FAILED delivery

Each step is one short transaction. Concurrent calls to confirm share a transaction, and so do
concurrent calls to settle. Every write that a task makes is guarded by its claim. Only this module
and `recovery` change a delivery's state.
Specification: States and transitions, Webhook delivery; Events, Delivery rules.
"""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.utils import timezone

from config.database.claims import SETTLED_WITHIN, lease_end
from config.database.ids import new_id
from config.database.lengths import SHORT
from config.database.locks import (
    LOCKED,
    insist,
    is_lock_timeout,
    left_if_locked,
    unlocked,
    unlocked_keys,
)
from config.database.prepared import update_each
from webhooks.engine import claims, health, metrics
from webhooks.engine.batch import Batch
from webhooks.engine.claims import NO_CLAIM
from webhooks.engine.queue import now
from webhooks.engine.work import Claimed, Result, Target, Work
from webhooks.models import Attempt, Delivery
from webhooks.models.delivery import State

logger = logging.getLogger(__name__)
# What an attempt needs to know about its delivery, in the order of `_read_begun`
BEGUN = (
    *("pk", "chatbot_id", "attempts_count", "body", "is_test", "state", "retried_by", "due_at"),
    *("chatbot__endpoint__url", "chatbot__endpoint__sealed_secret"),
    *("chatbot__endpoint__is_active", "account__webhooks_enabled", "chatbot__erased_at"),
)


def held(ids: Iterable[UUID], tokens: Iterable[UUID]) -> "QuerySet[Delivery]":
    """Select the deliveries whose claims still hold."""
    return Delivery.objects.filter(pk__in=ids, claim__in=tokens, due_at__isnull=False)


def confirm(claimed: Claimed, *, worker: str) -> list[Work]:
    """Begin attempts: replace the deliveries' claim and insert the attempts' rows.

    Leaves out the deliveries whose claim no longer holds, and those that another session has
    locked. The claim of the latter expires, and they are claimed again later.
    """
    try:
        works = _begin(claimed, worker)
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
        return []
    for work in works:
        metrics.attempt_begins(work.late)
    return works


def settle(work: Work, result: Result) -> bool:
    """Record the result of an attempt. Returns False if the claim no longer holds.

    Retries while a row is locked or the database is unavailable. After SETTLED_WITHIN seconds, the
    next database error is raised. During a database outage, however, the retries continue even
    then, until the worker is told to stop.
    """
    return insist(
        lambda: _settle((work, result)),
        within=SETTLED_WITHIN,
        what=f"delivery {work.delivery_id}",
    )


def retry(
    delivery_ids: Iterable[UUID],
    *,
    by: str,
    due_at: datetime | None = None,
    job: UUID | None = None,
) -> int:
    """Request one more attempt for FAILED deliveries. Returns how many will be retried.

    Deliveries that are already due or in flight are left unchanged, so a double click causes only
    one retry. The delivery log shows `by` as the requester. `job` is the id of a bulk retry.
    """
    idle = Delivery.objects.filter(state=State.FAILED, due_at=None, claim=None)
    return idle.filter(pk__in=delivery_ids).update(
        due_at=due_at or now(), retried_by=by[:SHORT], retry_job=job, updated_at=timezone.now()
    )


def _begin(claimed: Claimed, worker: str) -> list[Work]:
    with transaction.atomic():
        started_at, token = now(), uuid4()
        ours = unlocked_keys(held(claimed.delivery_ids, [claimed.claim]))
        Delivery.objects.filter(pk__in=ours).update(
            claim=token, claimed_by=worker, claimed_until=lease_end()
        )
        begun = list(_read_begun(ours, token, started_at))
        Attempt.objects.bulk_create(
            Attempt(
                id=work.attempt_id,
                delivery_id=work.delivery_id,
                number=work.number,
                by=by,
                url=work.target.url if work.target else "",
                started_at=started_at,
            )
            for work, by in begun
        )
    return [work for work, _ in begun]


def _read_begun(ids: list[UUID], token: UUID, started_at: datetime) -> Iterator[tuple[Work, str]]:
    rows = Delivery.objects.filter(pk__in=ids, claim=token).values_list(*BEGUN)
    for pk, bot, ended, body, is_test, state, by, due, url, secret, active, paid, erased in rows:
        once = is_test or state == State.FAILED
        deleted = url is None or erased  # an erased chatbot keeps its webhook for a while
        work = Work(
            delivery_id=pk,
            claim=token,
            attempt_id=new_id(),
            chatbot_id=bot,
            number=ended + 1,
            once=once,
            body=bytes(body),
            target=None if deleted else Target(url, secret, active, paid),
            late=started_at - due if due else timedelta(0),
        )
        yield work, by if once else ""


def _settle_all(asked: list[tuple[Work, Result]]) -> list[bool | Exception]:
    """Record the results of attempts whose claims still hold. Returns whether each claim held.

    Returns a lock timeout for a delivery that another session has locked. If an endpoint stays
    locked, the health of the batch's endpoints is left unchanged.
    """
    ids, tokens = zip(*((work.delivery_id, work.claim) for work, _ in asked), strict=True)
    with transaction.atomic():
        ended_at = now()
        ours = held(ids, tokens).values_list("pk", "claim")
        found = unlocked(ours.annotate(body_length=Length("body")))
        rows = {(pk, claim): length for pk, claim, length in found}
        # Usually, all rows are found, and this reads nothing.
        skipped = set(ours) - rows.keys() if len(rows) < len(asked) else set()
        ended = [
            (work, result if rows[work.key] else result.without_content())
            for work, result in asked
            if work.key in rows
        ]
        update_each(Delivery, {w.delivery_id: _delivery_columns(w, r, ended_at) for w, r in ended})
        update_each(Attempt, {w.attempt_id: _attempt_columns(w, r, ended_at) for w, r in ended})
        with left_if_locked("a webhook's health"), transaction.atomic():
            health.record(ended, ended_at)
    claims.freed.set()
    for work, result in ended:
        metrics.attempt_ended(result, _next(work, result, ended_at)[0])
    settled = {work.attempt_id for work, _ in ended}
    return [_answer(work, settled=settled, skipped=skipped) for work, _ in asked]


def _answer(
    work: Work, *, settled: set[UUID], skipped: set[tuple[UUID, UUID | None]]
) -> bool | Exception:
    """Return whether an attempt was settled, or a lock timeout if its delivery was skipped."""
    if work.key in skipped:
        return OperationalError(LOCKED)
    if work.attempt_id in settled:
        return True
    logger.warning("delivery %s was settled too late, so nothing was changed", work.delivery_id)
    return False


def _next(work: Work, result: Result, ended_at: datetime) -> tuple[State, datetime | None]:
    """Return a delivery's next state and due time. Open point: delivery-states."""
    if result.success:
        return State.SUCCESS, None
    delays = settings.WEBHOOK_RETRY_DELAYS
    if work.once or result.final or work.number > len(delays):
        return State.FAILED, None
    return State.RETRYING, ended_at + timedelta(seconds=delays[work.number - 1])


# In the functions below, Any stands for column values of many types.
def _delivery_columns(work: Work, result: Result, ended_at: datetime) -> dict[str, Any]:
    state, due_at = _next(work, result, ended_at)
    return NO_CLAIM | {
        "state": state,
        "due_at": due_at,
        "attempts_count": work.number,
        "last_code": result.outcome and result.outcome.response_code,
        "last_ms": result.outcome and result.outcome.response_ms,
        "last_reason": result.reason,
        "last_detail": result.detail,
        "updated_at": ended_at,
    }


def _attempt_columns(work: Work, result: Result, ended_at: datetime) -> dict[str, Any]:
    outcome = result.outcome
    return {
        "status": _next(work, result, ended_at)[0],
        "signature": result.signature,
        "response_code": outcome and outcome.response_code,
        "response_ms": outcome and outcome.response_ms,
        "reason": result.reason,
        "detail": result.detail,
        "response_headers": outcome.response_headers if outcome else {},
        "response_body": outcome.response_body if outcome else b"",
        "finished_at": ended_at,
    }


_settle = Batch(_settle_all, patience=0.02)
