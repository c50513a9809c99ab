"""Issue, rotate and revoke API keys. Specification: Authentication, 2 and 3."""

from collections.abc import Iterator
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Coalesce, Least
from django.utils import timezone

from accounts import keys
from accounts.models import Account, ApiKey, User
from accounts.models.api_key import ApiKeyQuerySet


def issue(
    user: User, *, label: str = "", days: int | None = None, account: Account | None = None
) -> tuple[ApiKey, str]:
    """Create a key. Returns its row and its text, which is known this once.

    With an account, the key works in that account only.
    """
    row = offer(user, label=label, days=days, account=account)
    text = collect(row)
    assert text  # for the type: no other request knows the row yet
    return row, text


def offer(
    user: User, *, label: str = "", days: int | None = None, account: Account | None = None
) -> ApiKey:
    """Create a key without its text: it does not work until its owner collects the text."""
    return ApiKey.objects.create(
        user=user,
        account=account,
        label=label,
        prefix=keys.make().prefix,
        expires_at=timezone.now() + timedelta(days=days) if days is not None else None,
    )


def collect(key: ApiKey) -> str | None:
    """Make the text of an offered key; None if it was made before, or the key is revoked."""
    made = keys.make(key.prefix)
    offered = ApiKey.objects.filter(pk=key.pk, digest=None, revoked_at=None)
    if not offered.update(digest=made.digest):
        return None
    key.digest = made.digest
    return made.text


def revoke(key: ApiKey) -> None:
    """End a key at once; a key ended before stays as it is."""
    ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now())
    key.refresh_from_db()


def rotate(rows: ApiKeyQuerySet, *, grace_hours: float = 0) -> Iterator[tuple[ApiKey, str]]:
    """Give a new key for each working one; yields rows and texts as they are made.

    An old key ends after the grace, or at its own end if that comes first. A key that an earlier
    rotation has replaced gets no second successor, but ends no later than this grace. Each pair is
    one transaction: a rotation that is interrupted has lost no key.
    """
    end = timezone.now() + timedelta(hours=grace_hours)
    rows.alive().filter(replaced_at__isnull=False, expires_at__gt=end).update(expires_at=end)
    for old in rows.replaceable().select_related("user", "account"):
        with transaction.atomic():
            free = ApiKey.objects.replaceable().filter(pk=old.pk)
            if not free.update(
                replaced_at=timezone.now(), expires_at=Least(Coalesce("expires_at", end), end)
            ):
                continue  # another rotation was faster
            key, text = issue(old.user, label=old.label, account=old.account)
            key.expires_at = old.expires_at
            key.save(update_fields=["expires_at", "updated_at"])
        yield key, text
