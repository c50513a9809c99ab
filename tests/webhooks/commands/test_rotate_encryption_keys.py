"""The `rotate_encryption_keys` command."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management.base import CommandError

from tests.commands import record
from tests.factories.webhooks import SECRET, EndpointFactory
from webhooks import sealing
from webhooks.models import Endpoint
from webhooks.services.encryption import rotate
from webhooks.services.endpoint import replace_secret

pytestmark = pytest.mark.django_db


@pytest.fixture
def old_key(settings: Any) -> list[Endpoint]:
    """Seal endpoints' secrets with a key, and then add a newer key in front of it."""
    endpoints = [EndpointFactory() for _ in range(3)]
    [old] = settings.ENCRYPTION_KEYS
    settings.ENCRYPTION_KEYS = (Fernet.generate_key().decode(), old)
    return endpoints


def sealed() -> list[str]:
    return list(Endpoint.objects.order_by("pk").values_list("sealed_secret", flat=True))


def test_the_old_key_is_no_longer_needed_after_a_rotation(
    old_key: list[Endpoint], settings: Any
) -> None:
    assert record("rotate_encryption_keys") == {"secrets": 3}
    settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS[:1]
    assert [sealing.unseal(each) for each in sealed()] == [SECRET] * 3


def test_a_secret_that_no_key_can_decrypt_is_reported_and_the_others_are_rotated(
    old_key: list[Endpoint], settings: Any
) -> None:
    Endpoint.objects.filter(pk=old_key[0].pk).update(sealed_secret="sealed with no known key")
    with pytest.raises(CommandError, match="1 of 3 secrets"):
        record("rotate_encryption_keys")
    settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS[:1]
    assert [sealing.is_newest(each) for each in sealed()].count(True) == 2


def test_a_secret_that_is_replaced_during_the_rotation_is_kept(old_key: list[Endpoint]) -> None:
    rotating = rotate()
    next(rotating)
    last = Endpoint.objects.order_by("pk").last()
    replace_secret(last, "a-secret-that-is-newer")
    assert list(rotating) == [False, False]
    assert [sealing.unseal(each) for each in sealed()] == [
        *[SECRET] * 2,
        "a-secret-that-is-newer",
    ]
