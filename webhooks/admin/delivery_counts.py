"""Count the deliveries for the log's tabs, up to a cap. The counts use indexes."""

from collections import Counter
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, Value

from webhooks.models import Delivery
from webhooks.models.delivery import Lane, State

CAP = 100  # counts of this size or more are shown as "99+"


def counts(chatbots: list[UUID] | None) -> Counter[str]:
    """Count the FAILED and RETRYING deliveries of `chatbots`, or of all chatbots if it is None.

    SQLite does not allow LIMIT in the parts of a UNION, so each part limits a subquery of ids.
    """
    rows = Delivery.objects.order_by()
    parts: list[QuerySet[Delivery]]
    if chatbots is None:
        parts = [rows.filter(state=state) for state in (State.FAILED, State.RETRYING)]
    else:
        parts = [
            rows.filter(failed_of__in=chatbots),
            rows.filter(waiting_of__in=chatbots, lane=Lane.RETRY),
            rows.filter(running_of__in=chatbots, state=State.RETRYING),
        ]
    selected: list[QuerySet[Any, Any]] = [
        rows.filter(pk__in=part.values("pk")[:CAP]).values_list("state", Value(1)) for part in parts
    ]
    first, *others = selected
    found: Counter[str] = Counter()
    for name, count in first.union(*others, all=True):
        found[name] += count
    return found


def shown(count: int) -> str:
    """Return a count as text for a tab, or "" if it is zero."""
    return f"{CAP - 1}+" if count >= CAP else str(count or "")
