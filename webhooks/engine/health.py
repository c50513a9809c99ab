"""Record the health of receivers, based on finished attempts.

The failures since the last success are counted, and the first of them sets `failing_since`. An
attempt that was sent to an earlier URL is ignored, because that URL may belong to another receiver.

Successes raise the limit on attempts in flight, up to MOST, and a timeout halves it. While the
limit is fully used and all attempts succeed, it rises by about one in the time that one attempt
takes. It does not rise faster, because an overloaded receiver can be recognized only by timeouts,
which come late.
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

# Minimum interval between writes that change only `last_success_at`.
FRESH = timedelta(seconds=10)
MOST = 128  # highest limit; allows 640 deliveries a second if each takes 0.2 s
RECORD = (
    *("last_success_at", "last_failure_at", "failing_since", "failures_in_a_row"),
    *("timed_out", "attempts_limit"),
)


def record(ended: Iterable[tuple[Work, Result]], ended_at: datetime) -> None:
    """Update the endpoints' records from finished attempts, inside the caller's transaction.

    `ended` lists the attempts in the order in which they ended. Only the endpoints whose last
    attempt failed, and those whose records are out of date, are written. Their rows are locked in a
    fixed order, to avoid deadlocks with workers that lock the same rows.
    """
    results: dict[tuple[UUID, str], list[Result]] = {}
    for work, result in ended:
        if result.outcome and work.target:
            results.setdefault((work.chatbot_id, work.target.url), []).append(result)
    if not results:
        return
    tried = [chatbot for chatbot, _ in results]
    failing = [chatbot for (chatbot, _), some in results.items() if not some[-1].success]
    up_to_date = Q(failing_since=None, timed_out=False, attempts_limit=MOST)
    up_to_date &= Q(last_success_at__gt=ended_at - FRESH)
    rows = Endpoint.objects.filter(~up_to_date | Q(chatbot__in=failing), chatbot__in=tried)
    rows = rows.only("chatbot", "url", *RECORD).order_by("pk").select_for_update()
    records: dict[UUID, dict[str, Any]] = {}  # Any, because the columns have various types
    for row in rows:
        if some := results.get((row.chatbot_id, row.url)):
            _note(row, some, ended_at)
            records[row.pk] = {name: getattr(row, name) for name in RECORD}
    update_each(Endpoint, records)


def _note(row: Endpoint, results: Sequence[Result], ended_at: datetime) -> None:
    """Update an endpoint's record from the results of one or more attempts."""
    for one in results:
        row.timed_out = one.outcome is not None and one.outcome.reason is Reason.TIMEOUT
        if one.success:
            row.last_success_at, row.failing_since, row.failures_in_a_row = ended_at, None, 0
            row.attempts_limit = min(MOST, row.attempts_limit + 1 / row.attempts_limit)
        else:
            row.last_failure_at, row.failing_since = ended_at, row.failing_since or ended_at
            row.failures_in_a_row += 1
    if row.timed_out:  # the limit is halved once, because simultaneous timeouts may share a cause
        row.attempts_limit = max(1, row.attempts_limit / 2)
