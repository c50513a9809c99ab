"""A lookup by email uses the index, and deleting a user leaves no trace of the address."""

from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from accounts.models import User
from accounts.services.user import find_or_create_user
from tests.factories.accounts import UserFactory

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
