"""Use indexes to count the deliveries for the log's tabs, up to a cap."""

from collections import Counter
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, Value

from accounts.models import User
from config.database.collected import CountOf
from webhooks.models import Delivery
from webhooks.models.delivery import Lane, State

BESIDE = "beside"
CAP = 100  # this count and higher ones are shown as "99+"


def counts(
    chatbots: list[UUID] | None, *, beside: "QuerySet[Any] | None" = None, person: User
) -> Counter[str]:
    """Count the FAILED and RETRYING deliveries of `chatbots`; None selects all chatbots.

    The same query counts the rows of `beside`, if given, under the key BESIDE. Django cannot
    write a SELECT without a table, so this part of the UNION selects from `person`'s row. SQLite
    allows no LIMIT in a part of a UNION, so each of the other parts limits a subquery of ids.
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
    """Return a count as text for a tab; empty for zero."""
    return f"{CAP - 1}+" if count >= CAP else str(count or "")
