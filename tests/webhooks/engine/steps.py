"""Steps of the schedule, for tests."""

from django.utils import timezone

from tests.servers.behaviours import answer
from webhooks.engine import attempt, claims, schedule
from webhooks.models import Delivery

ME, OTHER = "1", "2"
OK, BROKEN = answer(200, b"thanks"), answer(503, b"upstream down")


def begin(worker=ME):
    """Claim due deliveries and begin them."""
    claimed = claims.claim(worker, slots=32)
    return [schedule.confirm(one, worker=worker) for one in claimed]


def run():
    """Make all due attempts; returns how many."""
    works = begin()
    for work in works:
        assert schedule.settle(work, attempt.send(work))
    return len(works)


def make_due(delivery):
    Delivery.objects.filter(pk=delivery.pk).update(due_at=timezone.now())


def stored(delivery):
    return Delivery.objects.values().get(pk=delivery.pk)


def states(delivery):
    return list(delivery.attempts.values_list("number", "status"))
