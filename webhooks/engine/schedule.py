"""The schedule: what state a delivery is in, and when its next attempt is due.

    claim    a dispatcher takes what is due, as much as fairness allows
    confirm  a task begins: its claim is changed for another, so a second message finds nothing
    settle   a task ends: the attempt, the next state and the receiver's health, all or nothing
    give back  a task could not make its attempt: all is as before it began
    retry    somebody asks for one more attempt of what has FAILED

Each is one short transaction; what comes at the same time shares one. Every write is guarded by
the claim: who lost it changes nothing. Only this module and `recovery` write a delivery's state.
Specification: States and transitions, Webhook delivery; Events, Delivery rules.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from config.crash import crash_point
from config.db import new_id
from config.failures import Reason
from webhooks.engine import queue
from webhooks.engine.batch import Batch
from webhooks.engine.fairness import Turns
from webhooks.engine.liveness import NAMESPACE
from webhooks.engine.queue import now
from webhooks.engine.work import Claimed, Result, Target, Work
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.models.delivery import State

START = timedelta(seconds=3)  # a claim whose task has not begun by then: its message is lost
MARGIN = timedelta(seconds=20)  # beyond an attempt's deadline, for settling while databases fail
PAUSES = (0.1, 0.3, 1.0, 2.0, 4.0, 4.0)  # between tries to settle; together less than MARGIN
FRESH = timedelta(seconds=10)  # a success that recent need not be noted again
NO_CLAIM: dict[str, Any] = {"claim": None, "claimed_by": "", "claimed_until": None}

freed = threading.Event()  # set when an attempt of this process has ended
logger = logging.getLogger(__name__)
_turns = Turns()


def lease() -> timedelta:
    """How long an attempt may hold its claim."""
    return timedelta(seconds=settings.WEBHOOK_TIMEOUT) + MARGIN


def claim(worker: str, *, slots: int) -> list[Claimed]:
    """Claim what is due for a worker with so many slots, never more than are free."""
    with transaction.atomic():
        queue.keep_to_indexes()
        _one_claimer_at_a_time()
        moment = now()
        running = queue.running(worker, moment, start=START, lease=lease())
        # What may be killing workers goes alone, so that it takes no other one with it for good.
        suspects = not any(one.suspect for one in running)
        chosen = _turns.choose(
            queue.waiting(moment),
            running,
            slots=slots,
            more=lambda one, count: queue.candidates(one, count, moment=moment, suspects=suspects),
            moment=time.monotonic(),
            timeout=settings.WEBHOOK_TIMEOUT,
        )
        alone = queue.suspects_of(chosen)[1:]
        chosen = [one for one in chosen if one not in alone]
        token = uuid4()
        free = Delivery.objects.filter(pk__in=chosen, claim=None, due_at__isnull=False)
        taken = free.update(claim=token, claimed_by=worker, claimed_until=moment + START)
        if taken != len(chosen):  # a chatbot was deleted meanwhile
            there = set(Delivery.objects.filter(claim=token).values_list("pk", flat=True))
            chosen = [one for one in chosen if one in there]
        if chosen:
            crash_point("in-claim")
    if chosen:
        crash_point("after-claim")
    return [Claimed(one, token) for one in chosen]


def confirm(claimed: Claimed, *, worker: str) -> Work | None:
    """Begin an attempt and write its row. None where the claim does not stand any more."""
    work = _confirm((claimed, worker))
    if work:
        crash_point("attempt-begun")
    return work


def settle(work: Work, result: Result) -> bool:
    """Write down what came of an attempt; False where somebody else has taken it over.

    While the database does not answer, it is tried again for as long as the claim holds.
    """
    return _insist(work, lambda: _settle((work, result)))


def give_back(work: Work) -> bool:
    """Undo the beginning of an attempt that this machine could not make; it is due as before.

    False where somebody else has taken it over.
    """

    def undo() -> bool:
        with transaction.atomic():
            held = Delivery.objects.filter(pk=work.delivery_id, claim=work.claim)
            if ours := held.update(**NO_CLAIM):
                Attempt.objects.filter(pk=work.attempt_id).delete()
        return bool(ours)

    ours = _insist(work, undo)
    freed.set()
    return ours


def release(claimed: Iterable[Claimed]) -> None:
    """Give claims back whose tasks will not begin."""
    for one in claimed:
        Delivery.objects.filter(pk=one.delivery_id, claim=one.claim).update(**NO_CLAIM)


def retry(delivery_ids: Iterable[UUID], *, by: str, due_at: datetime | None = None) -> int:
    """Ask for one more attempt of deliveries that have FAILED; returns how many it is made for.

    Twice asked is once done: a delivery that is due already is left alone.
    """
    idle = Delivery.objects.filter(state=State.FAILED, due_at=None, claim=None)
    return idle.filter(pk__in=delivery_ids).update(
        due_at=due_at or now(), retried_by=by[:255], updated_at=timezone.now()
    )


def _insist(work: Work, write: Callable[[], bool]) -> bool:
    waiting = threading.Event()
    for pause in PAUSES:
        try:
            return write()
        except (OperationalError, InterfaceError) as error:
            logger.warning("delivery %s is not settled yet: %s", work.delivery_id, error)
            connection.close()
            waiting.wait(pause)
    return write()


def _one_claimer_at_a_time() -> None:
    # Shares are counted, then taken. SQLite's transactions are IMMEDIATE, and exclude each other.
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [NAMESPACE])


def _confirm_all(asked: list[tuple[Claimed, str]]) -> list[Work | None]:
    [worker] = {worker for _, worker in asked}  # a process is one
    ids = [claimed.delivery_id for claimed, _ in asked]
    claims = {claimed.claim for claimed, _ in asked}
    with transaction.atomic():
        moment, token = now(), uuid4()
        Delivery.objects.filter(pk__in=ids, claim__in=claims, due_at__isnull=False).update(
            claim=token, claimed_by=worker, claimed_until=moment + lease()
        )
        begun = {work.delivery_id: (work, by) for work, by in _read_begun(ids, token)}
        Attempt.objects.bulk_create(
            Attempt(
                id=work.attempt_id,
                delivery_id=work.delivery_id,
                number=work.number,
                by=by,
                url=work.target.url if work.target else "",
                started_at=moment,
            )
            for work, by in begun.values()
        )
    # a message that came twice, in one batch even, is answered once
    return [begun.pop(one, (None, ""))[0] for one in ids]


def _read_begun(ids: list[UUID], token: UUID) -> Iterator[tuple[Work, str]]:
    rows = Delivery.objects.filter(pk__in=ids, claim=token).values_list(
        "pk",
        "chatbot_id",
        "attempts_count",
        "body",
        "is_test",
        "state",
        "retried_by",
        "chatbot__endpoint__url",
        "chatbot__endpoint__sealed_secret",
        "chatbot__endpoint__is_active",
        "account__webhooks_enabled",
    )
    for pk, chatbot, ended, body, is_test, state, by, url, secret, is_active, has_add_on in rows:
        once = is_test or state == State.FAILED
        work = Work(
            delivery_id=pk,
            claim=token,
            attempt_id=new_id(),
            chatbot_id=chatbot,
            number=ended + 1,
            once=once,
            body=bytes(body),
            target=Target(url, secret, is_active, has_add_on) if url is not None else None,
        )
        yield work, by if once else ""


def _settle_all(asked: list[tuple[Work, Result]]) -> list[bool]:
    with transaction.atomic():
        moment = now()
        rows = Delivery.objects.filter(pk__in=[work.delivery_id for work, _ in asked])
        rows = rows.select_for_update().order_by("pk").annotate(is_erased=Q(body=b""))
        held = {pk: state for pk, *state in rows.values_list("pk", "claim", "is_erased")}
        known = [held.get(work.delivery_id, [None, False]) for work, _ in asked]
        ours = [claim == work.claim for (work, _), (claim, _) in zip(asked, known, strict=True)]
        ended = [
            (work, result.without_content() if is_erased else result)
            for (work, result), (claim, is_erased) in zip(asked, known, strict=True)
            if claim == work.claim
        ]
        _write_each(Delivery, {w.delivery_id: _delivery_columns(w, r, moment) for w, r in ended})
        _write_each(Attempt, {w.attempt_id: _attempt_columns(w, r, moment) for w, r in ended})
        _note_health(ended, moment)
        if ended:
            crash_point("before-settle-commit")
    if ended:
        crash_point("after-settle")
    for work, result in ended:
        if not (result.outcome and result.outcome.reason is Reason.TIMEOUT):
            _turns.note_answer(work.chatbot_id, time.monotonic())
    freed.set()
    for (work, _), is_ours in zip(asked, ours, strict=True):
        if not is_ours:
            logger.warning("delivery %s was settled late; nothing changed", work.delivery_id)
    return ours


def _next(work: Work, result: Result, moment: datetime) -> tuple[State, datetime | None]:
    """Say where a delivery goes from an attempt that ends now. Open point: delivery-states."""
    if result.success:
        return State.SUCCESS, None
    delays = settings.WEBHOOK_RETRY_DELAYS
    if work.once or result.final or work.number > len(delays):
        return State.FAILED, None
    return State.RETRYING, moment + timedelta(seconds=delays[work.number - 1])


# Any, here and below: values of columns of many types
def _delivery_columns(work: Work, result: Result, moment: datetime) -> dict[str, Any]:
    state, due_at = _next(work, result, moment)
    return NO_CLAIM | {
        "state": state,
        "due_at": due_at,
        "attempts_count": work.number,
        "last_code": result.outcome and result.outcome.response_code,
        "last_ms": result.outcome and result.outcome.response_ms,
        "last_error": result.error,
        "updated_at": moment,
    }


def _attempt_columns(work: Work, result: Result, moment: datetime) -> dict[str, Any]:
    outcome = result.outcome
    return {
        "status": _next(work, result, moment)[0],
        "signature": result.signature,
        "response_code": outcome and outcome.response_code,
        "response_ms": outcome and outcome.response_ms,
        "error": result.error,
        "response_headers": outcome.response_headers if outcome else {},
        "response_body": outcome.response_body if outcome else b"",
        "finished_at": moment,
    }


def _write_each(model: type[models.Model], rows: Mapping[UUID, Mapping[str, Any]]) -> None:
    # The ORM would build one statement with a CASE for each column and row; this is sent ready.
    if not rows:
        return
    meta = model._meta
    wanted = next(iter(rows.values())).keys()
    columns = [column for column in meta.concrete_fields if column.name in wanted]
    sets = ", ".join(f"{column.column} = %s" for column in columns)
    values = [
        [
            *(column.get_db_prep_save(row[column.name], connection) for column in columns),
            meta.pk.get_db_prep_save(key, connection),
        ]
        for key, row in rows.items()
    ]
    with connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {meta.db_table} SET {sets} WHERE id = %s", values)  # noqa: S608


def _note_health(ended: list[tuple[Work, Result]], moment: datetime) -> None:
    sent: dict[tuple[UUID, str], list[Result]] = {}
    for work, result in ended:
        if result.outcome and work.target:
            sent.setdefault((work.chatbot_id, work.target.url), []).append(result)
    well = {chatbot for (chatbot, _), results in sent.items() if any(r.success for r in results)}
    ill = {chatbot for (chatbot, _), results in sent.items() if not results[-1].success}
    known = Q(failing_since=None, timed_out=False, last_success_at__gt=moment - FRESH)
    # locked in one order, for another worker may be noting the same ones
    rows = Endpoint.objects.filter(Q(chatbot__in=ill) | Q(chatbot__in=well) & ~known)
    held = rows.select_for_update().order_by("pk").values_list("chatbot", "url")
    # what another URL answered, while this one took its place, says nothing about it
    noted = {chatbot: sent[chatbot, url] for chatbot, url in held if (chatbot, url) in sent}
    if better := [chatbot for chatbot, results in noted.items() if any(r.success for r in results)]:
        Endpoint.objects.filter(chatbot__in=better).update(
            last_success_at=moment, failing_since=None, failures_in_a_row=0, timed_out=False
        )
    for chatbot, results in noted.items():
        failures = list(takewhile(lambda one: not one.success, reversed(results)))
        if not failures:
            continue
        last = failures[0].outcome
        Endpoint.objects.filter(chatbot=chatbot).update(
            failing_since=Coalesce("failing_since", moment),
            last_failure_at=moment,
            failures_in_a_row=F("failures_in_a_row") + len(failures),
            timed_out=last is not None and last.reason is Reason.TIMEOUT,
        )


_confirm = Batch(_confirm_all)
_settle = Batch(_settle_all)
