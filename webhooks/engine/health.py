"""Record the health of receivers, from the attempts that have just ended.

1. A success clears everything: the endpoint works again.
2. Failures after the last success are counted; the first of them starts `failing_since`.
3. `timed_out` follows the last attempt. Endpoints that timed out share half of the slots.
4. The limit of attempts in flight grows by one with each answer, while deliveries wait because of
   it. A timeout halves it.
5. A success within 10 seconds of the last recorded one is not written if nothing else changes.
6. An answer from an earlier URL says nothing about the current one.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import takewhile
from uuid import UUID

from django.db.models import F, Q
from django.db.models.functions import Coalesce, Greatest, Least

from config.outbound.failures import Reason
from webhooks.engine import claims
from webhooks.engine.work import Result, Work
from webhooks.models import Endpoint

FRESH = timedelta(seconds=10)
MOST = 128  # the highest limit: an endpoint that takes 0.2 s gets over 600 deliveries a second


def record(ended: Iterable[tuple[Work, Result]], ended_at: datetime) -> None:
    """Write what ended attempts say about their endpoints, inside the caller's transaction.

    `ended` is in the order in which the attempts ended. The endpoints' rows are locked in one
    order, because other workers record the same ones.
    """
    results: dict[tuple[UUID, str], list[Result]] = {}
    for work, result in ended:
        if result.outcome and work.target:
            results.setdefault((work.chatbot_id, work.target.url), []).append(result)
    working = {chatbot for (chatbot, _), some in results.items() if any(r.success for r in some)}
    failing = {chatbot for (chatbot, _), some in results.items() if not some[-1].success}
    growing = claims.wants_more & {chatbot for chatbot, _ in results}
    unchanged = Q(failing_since=None, timed_out=False, last_success_at__gt=ended_at - FRESH)
    unchanged &= ~Q(chatbot__in=growing, attempts_limit__lt=MOST)
    changed = Q(chatbot__in=failing) | Q(chatbot__in=working) & ~unchanged
    rows = Endpoint.objects.filter(changed)
    held = rows.select_for_update().order_by("pk").values_list("chatbot", "url")
    current = {chatbot: results[chatbot, url] for chatbot, url in held if (chatbot, url) in results}
    claims.wants_more.difference_update(current)
    steady = [c for c, some in current.items() if any(r.success for r in some)]
    _record_successes(steady, ended_at)
    for chatbot, some in current.items():
        _record_failures(chatbot, some, ended_at)
        _adjust_limit(chatbot, some, grows=chatbot in growing)


def _record_successes(chatbots: list[UUID], ended_at: datetime) -> None:
    if chatbots:
        Endpoint.objects.filter(chatbot__in=chatbots).update(
            last_success_at=ended_at, failing_since=None, failures_in_a_row=0, timed_out=False
        )


def _record_failures(chatbot: UUID, results: list[Result], ended_at: datetime) -> None:
    failures = list(takewhile(lambda one: not one.success, reversed(results)))
    if not failures:
        return
    Endpoint.objects.filter(chatbot=chatbot).update(
        failing_since=Coalesce("failing_since", ended_at),
        last_failure_at=ended_at,
        failures_in_a_row=F("failures_in_a_row") + len(failures),
        timed_out=_timed_out(failures[0]),
    )


def _adjust_limit(chatbot: UUID, results: list[Result], *, grows: bool) -> None:
    answers = sum(
        one.outcome is not None and one.outcome.response_code is not None for one in results
    )
    limit = F("attempts_limit")
    if _timed_out(results[-1]):
        Endpoint.objects.filter(chatbot=chatbot).update(attempts_limit=Greatest(1, limit / 2))
    elif grows and answers:
        grown = Least(MOST, limit + answers)
        Endpoint.objects.filter(chatbot=chatbot).update(attempts_limit=grown)


def _timed_out(result: Result) -> bool:
    return result.outcome is not None and result.outcome.reason is Reason.TIMEOUT
