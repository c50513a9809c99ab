"""Run the delivery engine's steps: claim deliveries, attempt them, and record the results."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from tests.servers.behaviors import answer
from webhooks.engine import attempt, claims, recovery, schedule
from webhooks.engine.work import Claimed, Work
from webhooks.models import Delivery

ME = "worker-1@test"
OK, BROKEN = answer(200, b"thanks"), answer(503, b"upstream down")


def claim(slots: int = 32) -> list[Claimed]:
    """Claim due deliveries, as the scheduler does."""
    with transaction.atomic():
        return claims.claim(slots)


def claimed_ids(slots: int = 32) -> list[UUID]:
    """Claim due deliveries, and return their ids."""
    return [pk for one in claim(slots) for pk in one.delivery_ids]


def begin() -> list[Work]:
    """Claim due deliveries, begin their attempts, and return their Work objects."""
    return [work for one in claim() for work in schedule.confirm(one, worker=ME)]


def run() -> int:
    """Attempt all deliveries that can be claimed, and return how many there were."""
    works = begin()
    for work in works:
        assert schedule.settle(work, attempt.send(work))
    return len(works)


def expire() -> None:
    """Let the leases of all claimed deliveries expire, and free these deliveries."""
    past = timezone.now() - timedelta(seconds=1)
    Delivery.objects.exclude(claim=None).update(claimed_until=past)
    recovery.free_expired()


def make_due(delivery: Delivery) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(due_at=timezone.now())


def stored(delivery: Delivery) -> dict[str, Any]:
    found: dict[str, Any] = dict(Delivery.objects.values().get(pk=delivery.pk))
    return found


def states(delivery: Delivery) -> list[tuple[int, str]]:
    return list(delivery.attempts.values_list("number", "status"))
