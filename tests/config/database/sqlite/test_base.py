"""Our faster converters for SQLite values return exactly what Django's converters return."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connection
from django.db.backends.sqlite3.base import DatabaseOperations
from django.db.models import (
    BooleanField,
    DateField,
    DateTimeField,
    F,
    Field,
    JSONField,
    Max,
    UUIDField,
    Value,
)
from django.db.models.functions import TruncDate

from accounts.models import Account
from tests.factories.accounts import AccountFactory

pytestmark = pytest.mark.skipif(not settings.EMBEDDED, reason="PostgreSQL has these types")


@pytest.mark.parametrize(
    ("field", "stored"),
    [
        (DateTimeField(), "2026-01-02 03:04:05.000006"),
        (DateTimeField(), "2026-01-02 03:04:05"),
        (DateTimeField(), "0001-01-01 00:00:00"),
        (DateTimeField(), None),
        (UUIDField(), "00000000000000000000000000000001"),
        (UUIDField(), "ffffffffffff4fffbfffffffffffffff"),
        (UUIDField(), None),
        (BooleanField(), 0),
        (BooleanField(), 1),
        (BooleanField(), None),
        (DateField(), "2026-01-02"),
        (JSONField(), '{"a": 1}'),
    ],
    ids=str,
)
def test_a_value_is_converted_as_django_converts_it(field: Field, stored: Any) -> None:
    expression = Value(None, output_field=field)
    results = []
    for operations in (connection.ops, DatabaseOperations(connection)):
        value = stored
        for convert in operations.get_db_converters(expression):
            value = convert(value, expression, connection)
        results.append(value)
    assert results[0] == results[1]
    assert type(results[0]) is type(results[1])


@pytest.mark.django_db
def test_stored_values_are_read_unchanged() -> None:
    account = AccountFactory(mail_on_escalation=True)
    stored = Account.objects.values_list("pk", "created_at", "mail_on_escalation")
    assert stored.get(pk=account.pk) == (account.pk, account.created_at, True)
    assert isinstance(stored.get()[0], UUID)
    assert stored.get()[1].tzinfo is UTC
    latest = Account.objects.aggregate(latest=Max("created_at"), day=Max(TruncDate("created_at")))
    assert latest == {"latest": account.created_at, "day": account.created_at.date()}
    assert Account.objects.filter(created_at__lte=datetime.now(UTC), pk=F("pk")).exists()
