"""API keys. Only a digest and a visible prefix of each key are stored."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models.account import Account
from config.database.row import Row
from config.database.trail import update_rows


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    """A queryset of keys, with methods that select working keys and revoke keys."""

    def alive(self, now: datetime | None = None) -> "ApiKeyQuerySet":
        """Select the keys that work now, or at a given time."""
        return self.filter(
            Q(expires_at=None) | Q(expires_at__gt=now or timezone.now()),
            digest__isnull=False,
            revoked_at=None,
            user__is_active=True,
        )

    def replaceable(self) -> "ApiKeyQuerySet":
        """Select the working keys that no rotation has replaced."""
        return self.alive().filter(replaced_at=None)

    def revoke(self) -> int:
        """Revoke the keys immediately. Returns the number of keys that were not already revoked."""
        return update_rows(self.filter(revoked_at=None), revoked_at=timezone.now())


class ApiKey(Row):
    """An API key. Its text is shown once and never stored."""

    USED_EVERY = timedelta(minutes=1)  # minimum time between updates of `last_used_at`

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys"
    )
    account = models.ForeignKey(
        Account,
        null=True,
        on_delete=models.CASCADE,
        related_name="api_keys",
        help_text="The only account in which the key works. "
        "Leave empty to allow all of the owner's accounts.",
    )
    label = models.CharField(max_length=100, blank=True)
    prefix = models.CharField(max_length=20, unique=True, editable=False)
    # null until the owner collects the key
    digest = models.CharField(max_length=64, null=True, unique=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)
    # when a rotation replaced the key
    replaced_at = models.DateTimeField(null=True, editable=False)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"API key {self.prefix}"  # capitalized, because page titles begin with it

    @property
    def state(self) -> str:
        """Return "revoked", "expired", "owner inactive", "replaced", "active" or "waiting".

        A replaced key works until its grace period ends. A waiting key has not been collected yet.
        """
        if self.revoked_at:
            return "revoked"
        if self.expires_at and self.expires_at <= timezone.now():
            return "expired"
        if not self.user.is_active:
            return "owner inactive"
        if self.replaced_at:
            return "replaced"
        return "active" if self.digest else "waiting"

    def described(self) -> str:
        """Return the key's prefix, label and owner for display."""
        return f"{self.prefix}{f' “{self.label}”' if self.label else ''} of {self.user.email}"
