"""Record the health of receivers, from the attempts that have just ended.

A success clears the record: the endpoint works. Failures since then are counted, and the first of
them starts `failing_since`. The limit of attempts in flight grows by one with each success; a
timeout halves it. An answer from an earlier URL says nothing about the current one.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from config.database.prepared import update_each
from config.outbound.failures import Reason
from webhooks.engine.work import Result, Work
from webhooks.models import Endpoint

FRESH = timedelta(seconds=10)  # a success is written again only after this, if it changes nothing
MOST = 128  # the highest limit: an endpoint that takes 0.2 s gets over 600 deliveries a second
RECORD = (
    *("last_success_at", "last_failure_at", "failing_since", "failures_in_a_row"),
    *("timed_out", "attempts_limit"),
)


def record(ended: Iterable[tuple[Work, Result]], ended_at: datetime) -> None:
    """Write what ended attempts say about their endpoints, inside the caller's transaction.

    `ended` is in the order in which the attempts ended. The endpoints' rows are locked in one
    order, because other workers record the same ones.
    """
    results: dict[tuple[UUID, str], list[Result]] = {}
    for work, result in ended:
        if result.outcome and work.target:
            results.setdefault((work.chatbot_id, work.target.url), []).append(result)
    failing = [chatbot for (chatbot, _), some in results.items() if not some[-1].success]
    known = Q(failing_since=None, timed_out=False, attempts_limit=MOST)
    known &= Q(last_success_at__gt=ended_at - FRESH)
    rows = Endpoint.objects.filter(chatbot__in=[chatbot for chatbot, _ in results])
    changed = rows.filter(Q(chatbot__in=failing) | ~known).only("chatbot", "url", *RECORD)
    records: dict[UUID, dict[str, Any]] = {}  # Any: values of columns of many types
    for row in changed.select_for_update().order_by("pk"):
        if some := results.get((row.chatbot_id, row.url)):
            _note(row, some, ended_at)
            records[row.pk] = {name: getattr(row, name) for name in RECORD}
    update_each(Endpoint, records)


def _note(row: Endpoint, results: Sequence[Result], ended_at: datetime) -> None:
    """Set what the results of attempts, at least one, say about their endpoint."""
    for one in results:
        row.timed_out = one.outcome is not None and one.outcome.reason is Reason.TIMEOUT
        if one.success:
            row.last_success_at, row.failing_since, row.failures_in_a_row = ended_at, None, 0
            row.attempts_limit = min(MOST, row.attempts_limit + 1)
        else:
            row.last_failure_at, row.failing_since = ended_at, row.failing_since or ended_at
            row.failures_in_a_row += 1
    if row.timed_out:  # at the same time, many may time out for one reason
        row.attempts_limit = max(1, row.attempts_limit // 2)
