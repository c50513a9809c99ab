"""The state that the admin shows for a key agrees with whether the key works."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import ApiKey, User
from accounts.services import api_key
from tests.factories.accounts import UserFactory


def revoke(key: ApiKey) -> None:
    ApiKey.objects.filter(pk=key.pk).revoke()


def expire(key: ApiKey) -> None:
    ApiKey.objects.filter(pk=key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def replace(key: ApiKey) -> None:
    ApiKey.objects.filter(pk=key.pk).update(replaced_at=timezone.now())


def deactivate(key: ApiKey) -> None:
    User.objects.filter(pk=key.user_id).update(is_active=False)


def wait_for_collection(key: ApiKey) -> None:
    ApiKey.objects.filter(pk=key.pk).update(digest=None)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "state", "works"),
    [
        (lambda _: None, "active", True),
        (replace, "replaced", True),
        (revoke, "revoked", False),
        (expire, "expired", False),
        (deactivate, "owner inactive", False),
        (wait_for_collection, "waiting", False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_state_of_a_key_agrees_with_whether_it_works(
    change: Callable[[ApiKey], None], state: str, works: bool
) -> None:
    made, _ = api_key.issue(UserFactory())
    change(made)
    key = ApiKey.objects.get(pk=made.pk)
    assert key.state == state
    assert ApiKey.objects.alive().contains(key) is works
