"""Users are found by e-mail through the index, and created once."""

import threading
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections, transaction

from accounts.models import Invitation, Membership, User
from accounts.services.account import accept, create_account, find_or_create_user
from tests.factories.accounts import AccountFactory, PlanFactory, UserFactory
from tests.servers.processes import a_session_waits_for_a_transaction, wait_until

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("email", ["ann@example.com", "ANN@example.COM", " Ann@Example.com "])
def test_a_person_is_found_in_any_letter_case(email: str) -> None:
    ann = UserFactory(email="Ann@example.com")
    assert find_or_create_user(email) == User.objects.find(email) == ann


@pytest.mark.parametrize("way", ["find", "get_by_natural_key"])
def test_a_person_is_found_through_the_index(way: str, django_assert_num_queries: Any) -> None:
    User.objects.bulk_create(User(email=f"{number}@example.com") for number in range(2_000))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE accounts_user")
    with django_assert_num_queries(1) as read:
        getattr(User.objects, way)("7@EXAMPLE.com")
    explain = "EXPLAIN QUERY PLAN" if settings.EMBEDDED else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {read[0]['sql']}")
        plan = str(cursor.fetchall())
    assert "user_email_unique" in plan


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(settings.EMBEDDED, reason="embedded, there is one writer at a time")
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


def test_an_address_that_matches_only_in_the_databases_lower_case_is_not_accepted() -> None:
    """PostgreSQL's LOWER turns a dotted capital I into an i, so another domain may match."""
    UserFactory(email="ann@city.example")
    invitation = Invitation.objects.create(
        account=AccountFactory(), email="ann@c\u0130ty.example", role="MEMBER"
    )
    if User.objects.find(invitation.email):
        assert not accept(invitation)
        assert not Membership.objects.exists()
