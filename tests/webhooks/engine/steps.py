"""Steps of the schedule, for tests."""

from typing import Any

from django.utils import timezone

from tests.servers.behaviours import answer
from webhooks.engine import attempt, claims, schedule
from webhooks.engine.work import Work
from webhooks.models import Delivery

ME, OTHER = "1", "2"
OK, BROKEN = answer(200, b"thanks"), answer(503, b"upstream down")


def begin(worker: str = ME) -> list[Work | None]:
    """Claim due deliveries, and begin their attempts. Returns the work, or None where rejected."""
    claimed = claims.claim(worker, slots=32)
    return [schedule.confirm(one, worker=worker) for one in claimed]


def run() -> int:
    """Make all due attempts. Returns their number. Asserts that each is settled."""
    works = begin()
    for work in works:
        assert schedule.settle(work, attempt.send(work))
    return len(works)


def make_due(delivery: Delivery) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(due_at=timezone.now())


def stored(delivery: Delivery) -> dict[str, Any]:
    return Delivery.objects.values().get(pk=delivery.pk)


def states(delivery: Delivery) -> list[tuple[int, str]]:
    return list(delivery.attempts.values_list("number", "status"))
