"""The metrics page shows figures from the database, and works even if the database is down."""

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from accounts.models import Mail
from config.database.ids import new_id
from conversations import metrics
from conversations.metrics import DatabaseFigures, Samples
from conversations.models import LedgerCheck, OwedReply
from tests.factories.accounts import AccountFactory
from tests.factories.conversations import MessageFactory
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db


def shown(collector: DatabaseFigures) -> dict[str, float]:
    """Return a collector's values, keyed by metric name and label values."""
    return {
        " ".join((sample.name, *sample.labels.values())): sample.value
        for metric in collector.collect()
        for sample in metric.samples
    }


def test_waiting_rows_are_counted() -> None:
    account = AccountFactory()
    for age in (0, 120):
        due_at = timezone.now() - timedelta(seconds=age)
        Mail.objects.create(account=account, to="a@example.com", subject="s", due_at=due_at)
        OwedReply.objects.create(
            message=MessageFactory(), claim=new_id(), claimed_until=due_at + timedelta(minutes=1)
        )
    found = metrics.read()
    assert found["chatbots_mails_late"] == {"": 1}
    assert found["chatbots_replies_owed"] == {"": 2}
    assert found["chatbots_replies_overdue"] == {"": 1}
    assert found["chatbots_workers"] == {"": 0}
    assert found["chatbots_ledger_gaps"] == {}


def test_the_last_complete_check_of_the_ledger_is_shown() -> None:
    at = timezone.now() - timedelta(hours=2)
    LedgerCheck.objects.create(gaps={"thread_counts": 3}, finished_at=at, found={"other": 1})
    found = metrics.read()
    assert found["chatbots_ledger_gaps"] == {"thread_counts": 3}
    assert 7200 <= found["chatbots_ledger_age_seconds"][""] < 7300


def test_the_page_reports_that_the_database_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "WITHIN", PATIENCE)

    def fail() -> Samples:
        raise OperationalError("the database does not respond")

    assert shown(DatabaseFigures(fail)) == {"chatbots_sending": 1, "chatbots_database_up": 0}
