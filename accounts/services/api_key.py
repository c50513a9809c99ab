"""Issue, rotate and revoke API keys. Specification: Authentication, 2 and 3."""

from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Coalesce, Least
from django.utils import timezone

from accounts import keys
from accounts.models import Account, ApiKey, User
from accounts.models.api_key import ApiKeyQuerySet
from config.database.trail import update_rows


def issue(
    user: User, *, label: str = "", days: int | None = None, account: Account | None = None
) -> tuple[ApiKey, str]:
    """Create a key. Returns the row and the key's text, which is not stored.

    If an account is given, the key works only in that account.
    """
    row = offer(user, label=label, days=days, account=account)
    text = collect(row)
    assert text  # for mypy: no other request can have collected it yet
    return row, text


def offer(
    user: User, *, label: str = "", days: int | None = None, account: Account | None = None
) -> ApiKey:
    """Create a key that does not work until its owner collects its text."""
    return ApiKey.objects.create(
        user=user,
        account=account,
        label=label,
        prefix=keys.make().prefix,
        expires_at=timezone.now() + timedelta(days=days) if days is not None else None,
    )


def collect(key: ApiKey) -> str | None:
    """Generate an offered key's text. Returns None if the key has been collected or revoked."""
    made = keys.make(key.prefix)
    offered = ApiKey.objects.filter(pk=key.pk, digest=None, revoked_at=None)
    if not offered.update(digest=made.digest):
        return None
    key.digest = made.digest
    return made.text


def revoke(key: ApiKey) -> bool:
    """Revoke a key immediately. Returns False, and changes nothing, if it was already revoked."""
    revoked = ApiKey.objects.filter(pk=key.pk).revoke()
    key.refresh_from_db()
    return bool(revoked)


def replace(old: ApiKey, *, grace_hours: float = 0) -> tuple[ApiKey, str] | None:
    """Replace a working key with a new one. Returns the new row and the new key's text.

    The old key expires at the end of the grace period, or at its original expiry time if that is
    earlier. Returns None if the old key no longer works or has already been replaced.
    """
    end = timezone.now() + timedelta(hours=grace_hours)
    with transaction.atomic():
        free = ApiKey.objects.replaceable().filter(pk=old.pk)
        ends = Least(Coalesce("expires_at", end), end)
        if not update_rows(free, replaced_at=timezone.now(), expires_at=ends):
            return None
        key, text = issue(old.user, label=old.label, account=old.account)
        key.expires_at = old.expires_at
        key.save(update_fields=["expires_at", "updated_at"])
    return key, text


def shorten_grace(rows: ApiKeyQuerySet, *, grace_hours: float) -> None:
    """Ensure that keys replaced by earlier rotations expire by the end of the new grace period."""
    end = timezone.now() + timedelta(hours=grace_hours)
    update_rows(rows.alive().filter(replaced_at__isnull=False, expires_at__gt=end), expires_at=end)
