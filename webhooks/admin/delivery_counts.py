"""Count the deliveries for the log's tabs, up to a cap. The counts use indexes."""

from collections import Counter
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, Value

from accounts.models import User
from config.database.collected import CountOf
from webhooks.models import Delivery
from webhooks.models.delivery import Lane, State

BESIDE = "beside"
CAP = 100  # counts of this size or more are shown as "99+"


def counts(
    chatbots: list[UUID] | None, *, beside: "QuerySet[Any] | None" = None, person: User
) -> Counter[str]:
    """Count the FAILED and RETRYING deliveries of `chatbots`, or of all chatbots if it is None.

    If `beside` is given, the same query also counts the rows that `beside` selects, and the result
    has their count under the key BESIDE. Django cannot generate a SELECT without a table, so this
    count is selected from `person`'s row. SQLite does not allow LIMIT in the parts of a UNION, so
    each of the other counts limits a subquery of ids.
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
    if beside is not None:
        one = User.objects.filter(pk=person.pk).order_by()
        selected.append(one.values_list(Value(BESIDE), CountOf(beside.values("pk"))))
    first, *others = selected
    found: Counter[str] = Counter()
    for name, count in first.union(*others, all=True):
        found[name] += count
    return found


def shown(count: int) -> str:
    """Return a count as text for a tab, or "" if it is zero."""
    return f"{CAP - 1}+" if count >= CAP else str(count or "")
