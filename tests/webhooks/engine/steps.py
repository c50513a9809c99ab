"""Run the delivery engine's steps: claim deliveries, attempt them, and record the results."""

from typing import Any

from django.utils import timezone

from tests.servers.behaviors import answer
from webhooks.engine import attempt, claims, schedule
from webhooks.engine.work import Work
from webhooks.models import Delivery

ME, OTHER = "1", "2"
OK, BROKEN = answer(200, b"thanks"), answer(503, b"upstream down")


def begin(worker: str = ME) -> list[Work | None]:
    """Claim due deliveries, begin their attempts, and return their Work objects.

    If a claim cannot be confirmed, the list contains None instead of a Work object.
    """
    claimed = claims.claim(worker, slots=32)
    return [schedule.confirm(one, worker=worker) for one in claimed]


def run() -> int:
    """Attempt all deliveries that can be claimed, and return how many there were."""
    works = begin()
    for work in works:
        assert work and schedule.settle(work, attempt.send(work))
    return len(works)


def make_due(delivery: Delivery) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(due_at=timezone.now())


def stored(delivery: Delivery) -> dict[str, Any]:
    found: dict[str, Any] = dict(Delivery.objects.values().get(pk=delivery.pk))
    return found


def states(delivery: Delivery) -> list[tuple[int, str]]:
    return list(delivery.attempts.values_list("number", "status"))
