"""The daily ledger check stores its result, and an interrupted check resumes where it stopped."""

import logging
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from config.models import PeriodicWork
from conversations import ledger, tasks
from conversations.models import LedgerCheck, Thread
from tests.factories.conversations import MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[Thread]:
    """Four threads with wrong counters. Each thread is checked in a separate step."""
    monkeypatch.setattr(ledger, "TABLES", [replace(one, size=1) for one in ledger.TABLES])
    return [MessageFactory().thread for _ in range(4)]


def test_the_result_is_stored_and_the_next_check_is_due_in_a_day(
    threads: list[Thread], caplog: pytest.LogCaptureFixture
) -> None:
    PeriodicWork.objects.add([tasks.CHECK_LEDGER])
    [(_, claim)] = PeriodicWork.objects.claim()
    began = timezone.now()
    with caplog.at_level(logging.ERROR):
        tasks.check_ledger(claim)
    row = LedgerCheck.objects.get()
    assert set(row.gaps) == {rule.name for rule in ledger.RULES}
    assert {name: count for name, count in row.gaps.items() if count} == {"thread_counts": 4}
    assert row.finished_at is not None and row.finished_at >= began
    assert "thread_counts: 4" in caplog.text
    work = PeriodicWork.objects.get(name=tasks.CHECK_LEDGER)
    assert work.due_at > began + timedelta(hours=23)


def test_a_check_that_has_to_stop_resumes_where_it_stopped(threads: list[Thread]) -> None:
    assert not ledger.resume(lambda: True)
    row = LedgerCheck.objects.get()
    assert (row.found["thread_counts"], row.gaps, row.finished_at) == (1, {}, None)
    Thread.objects.filter(pk=min(thread.pk for thread in threads)).delete()  # already checked
    goes = 1
    while not ledger.resume(lambda: True):
        goes += 1
    assert goes > 4
    assert LedgerCheck.objects.get().gaps["thread_counts"] == 4
