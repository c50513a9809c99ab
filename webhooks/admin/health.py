"""Compute a webhook's health, which is shown on its page and in the list of webhooks."""

from dataclasses import dataclass
from statistics import quantiles

from django.db.models import Q
from django.utils import timezone

from config.admin.page import bounded
from config.durations import ONE_DAY
from webhooks import sealing
from webhooks.models import Delivery, Endpoint
from webhooks.models.delivery import State
from webhooks.models.reason import Refusal

UNREADABLE = Refusal.SECRET_UNREADABLE
LOOKED_AT = 1_000  # examine at most this many of the deliveries of the last 24 hours
STATES = {
    "failing": Q(is_active=True, failing_since__isnull=False),
    "healthy": Q(is_active=True, failing_since=None, last_success_at__isnull=False),
    "untried": Q(is_active=True, failing_since=None, last_success_at=None),
    "off": Q(is_active=False),
}


def state_of(endpoint: Endpoint) -> str:
    """Return the state to show for a webhook; `off` takes precedence over all others."""
    if not endpoint.is_active:
        return "off"
    try:
        sealing.unseal(endpoint.sealed_secret)
    except sealing.SealBroken:
        return UNREADABLE.label
    if endpoint.failing_since:
        return "failing"
    return "healthy" if endpoint.last_success_at else "untried"


@dataclass(frozen=True)
class Times:
    """The receiver's response times, in milliseconds, for deliveries of the last 24 hours.

    Excludes test deliveries, and deliveries that have not succeeded.
    """

    median: int | None
    p95: int | None
    capped: bool  # whether only the newest LOOKED_AT deliveries were examined


def response_times(endpoint: Endpoint) -> Times:
    """Compute response times from the newest LOOKED_AT deliveries of the last 24 hours."""
    rows = Delivery.objects.filter(
        chatbot=endpoint.chatbot_id, created_at__gte=timezone.now() - ONE_DAY, is_test=False
    )
    newest = rows.order_by("-created_at", "-id").values_list("state", "last_ms")
    seen = list(newest[:LOOKED_AT])
    times = sorted(ms for state, ms in seen if state == State.SUCCESS and ms is not None)
    cuts = quantiles(times, n=20, method="inclusive") if len(times) > 1 else times * 19
    return Times(
        median=round(cuts[9]) if cuts else None,
        p95=round(cuts[18]) if cuts else None,
        capped=len(seen) == LOOKED_AT,
    )


def waiting(endpoint: Endpoint) -> str:
    """Return the number of waiting and in-flight deliveries as text, such as "more than 1,000"."""
    key = endpoint.chatbot_id
    found = [Delivery.objects.filter(waiting_of=key), Delivery.objects.filter(running_of=key)]
    return bounded(found[0].union(found[1], all=True)) or "none"
