"""Changes are kept for the retention period. Pruning finds old changes through an index."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import tasks
from accounts.models import Change
from accounts.services import change
from config.database import locks
from config.models import PeriodicWork
from config.runtime import time_budget
from tests.factories.accounts import AccountFactory
from tests.factories.row import in_trail
from tests.statements import READ_IN_ORDER

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def changed(*, days: float) -> Change:
    """Record a change as if it had been made this many days ago."""
    with in_trail():
        AccountFactory()
    found = Change.objects.latest("id")
    Change.objects.filter(pk=found.pk).update(timestamp=timezone.now() - days * DAY)
    return found


def run() -> timedelta:
    """Prune the changes once. Returns the time until the next run is due."""
    PeriodicWork.objects.add([tasks.PRUNE_CHANGES])
    PeriodicWork.objects.update(due_at=timezone.now())
    [(_, claim)] = PeriodicWork.objects.claim()
    tasks.prune_changes(claim)
    due: Any = PeriodicWork.objects.values_list("due_at", flat=True).get()
    return due - timezone.now()  # type: ignore[no-any-return]  # a datetime


@pytest.mark.parametrize(("days", "kept"), [(729.9, True), (730.1, False), (0, True)])
def test_a_change_is_deleted_after_its_retention_period(days: float, kept: bool) -> None:
    row = changed(days=days)
    assert timedelta(hours=23) < run() <= DAY
    assert Change.objects.filter(pk=row.pk).exists() is kept


def test_the_retention_period_is_a_setting(settings: Any) -> None:
    settings.AUDIT_RETENTION_DAYS = 7
    kept, old = changed(days=6), changed(days=8)
    run()
    assert list(Change.objects.filter(pk__in=[kept.pk, old.pk])) == [kept]


def test_pruning_that_takes_too_long_continues_a_minute_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(locks, "BATCH", 2)
    monkeypatch.setattr(time_budget, "ONE_GO", -1.0)
    for number in range(5):
        changed(days=1000 - number)
    old = Change.objects.filter(timestamp__lt=timezone.now() - 730 * DAY)
    left = []
    while old.exists():
        assert timedelta(0) < run() <= timedelta(minutes=1)
        assert PeriodicWork.objects.get().claim is None
        left.append(old.count())
    assert left == [3, 1, 0]


def test_pruning_reads_a_range_of_an_index() -> None:
    changed(days=1000)
    with CaptureQueriesContext(connection) as asked:
        list(change.prune(timezone.now()))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(READ_IN_ORDER)
        explain = "EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN "
        reading = next(query["sql"] for query in asked if "timestamp" in query["sql"])
        cursor.execute(explain + reading)
        plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
    assert "change_newest" in plan
    assert "sort" not in plan.lower()
    assert "b-tree" not in plan.lower()


def test_no_index_of_the_trail_is_a_prefix_of_another() -> None:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, Change._meta.db_table)
    indexes = [one["columns"] for one in found.values() if one["index"] and one["columns"]]
    shorter = [one for one in indexes if sum(other[: len(one)] == one for other in indexes) > 1]
    assert not shorter
