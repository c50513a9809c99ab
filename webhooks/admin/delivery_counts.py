"""The numbers of deliveries on the tabs of the log, counted up to a cap over indexes."""

from collections import Counter
from uuid import UUID

from django.db.models import QuerySet

from webhooks.models import Delivery
from webhooks.models.delivery import Lane, State

CAP = 100  # a count from here on is shown as "99+"


def counts(chatbots: list[UUID] | None) -> Counter[str]:
    """Count the FAILED and RETRYING deliveries of chatbots, or of all; costs one query.

    SQLite allows a limit only below the parts of a UNION, so each part selects by id.
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
    first, *others = (
        rows.filter(pk__in=part.values("pk")[:CAP]).values_list("state", flat=True)
        for part in parts
    )
    return Counter(first.union(*others, all=True))


def shown(count: int) -> str:
    """Return a count as a tab shows it; empty for none."""
    return f"{CAP - 1}+" if count >= CAP else str(count or "")
