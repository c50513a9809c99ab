"""`create_account` uses the owner that another transaction creates at the same time."""

import threading
from typing import Any

import pytest
from django.conf import settings
from django.db import connections, transaction

from accounts.models import User
from accounts.services.account import create_account
from tests.factories.accounts import PlanFactory
from tests.servers.processes import a_session_waits_for_a_transaction, wait_until


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(settings.EMBEDDED, reason="SQLite has one writer at a time")
def test_two_calls_that_create_one_person_at_the_same_time_return_the_same_person() -> None:
    made: list[Any] = []

    def create() -> None:
        try:
            made.append(create_account(name="A", owner_email="kim@example.com", plan=plan).owner)
        finally:
            connections.close_all()

    plan = PlanFactory()
    thread = threading.Thread(target=create)
    with transaction.atomic():
        kim = User.objects.create_user("KIM@example.com")
        thread.start()
        wait_until(a_session_waits_for_a_transaction)
    thread.join()
    assert made == [kim]
