"""The state that the admin shows for a key agrees with whether the key works."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import ApiKey
from accounts.services import api_key
from tests.factories.accounts import UserFactory

NOW = timezone.now()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "state", "works"),
    [
        ({}, "active", True),
        ({"replaced_at": NOW}, "replaced", True),
        ({"revoked_at": NOW}, "revoked", False),
        ({"expires_at": NOW - timedelta(seconds=1)}, "expired", False),
        ({"digest": None}, "waiting", False),
        (None, "owner inactive", False),
    ],
)
def test_the_state_of_a_key_agrees_with_whether_it_works(
    changes: dict[str, Any] | None, state: str, works: bool
) -> None:
    made, _ = api_key.issue(user := UserFactory())
    if changes is None:
        user.is_active = False
        user.save()
    elif changes:
        ApiKey.objects.filter(pk=made.pk).update(**changes)
    key = ApiKey.objects.get(pk=made.pk)
    assert key.state == state
    assert ApiKey.objects.alive().contains(key) is works
