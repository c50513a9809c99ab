"""Issue, rotate and revoke API keys. Specification: Authentication, 2 and 3."""

from collections.abc import Iterator
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from accounts import keys
from accounts.models import ApiKey, User
from accounts.models.api_key import ApiKeyQuerySet


def issue(user: User, *, label: str = "", days: int | None = None) -> tuple[ApiKey, str]:
    """Make a key. Returns its row and its text, which is known this once."""
    made = keys.make()
    expires = timezone.now() + timedelta(days=days) if days is not None else None
    row = ApiKey.objects.create(
        user=user, label=label, prefix=made.prefix, digest=made.digest, expires_at=expires
    )
    return row, made.text


def revoke(key: ApiKey) -> None:
    """End a key at once; a key ended before stays as it is."""
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())
    key.refresh_from_db()


def rotate(rows: ApiKeyQuerySet, *, grace_hours: float = 0) -> Iterator[tuple[ApiKey, str]]:
    """Give a new key for each working one; yields rows and texts as they are made.

    An old key ends after the grace, or at its own end if that comes first. Each pair is one
    transaction: whoever stops in the middle has lost no key.
    """
    end = timezone.now() + timedelta(hours=grace_hours)
    for old in rows.alive().select_related("user"):
        with transaction.atomic():
            key, text = issue(old.user, label=old.label)
            key.expires_at = old.expires_at
            key.save(update_fields=["expires_at", "updated_at"])
            old.expires_at = min(end, old.expires_at) if old.expires_at else end
            old.save(update_fields=["expires_at", "updated_at"])
        yield key, text
