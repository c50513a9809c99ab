"""A person is found by email address."""

import pytest

from accounts.models import User
from accounts.services.user import find_or_create_user
from tests.factories.accounts import UserFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("email", ["ann@example.com", "ANN@example.COM", " Ann@Example.com "])
def test_a_person_is_found_in_any_letter_case(email: str) -> None:
    ann = UserFactory(email="Ann@example.com")
    assert find_or_create_user(email) == User.objects.find(email) == ann
