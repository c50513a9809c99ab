"""Changes are kept for the retention period. Pruning finds old changes through an index."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import tasks
from accounts.models import Change
from config.models import PeriodicWork
from tests.factories.accounts import AccountFactory
from tests.factories.row import in_trail

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
