"""Invitations, which people accept to become members of an account."""

from datetime import datetime, timedelta

from django.conf import settings
from django.core import signing
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from accounts.models.account import Account
from accounts.models.membership import Standing
from config.database.lengths import SHORT


class Invitation(Standing):
    """An invitation to an email address. Anyone with access to that mailbox can accept it."""

    LIFE = timedelta(days=7)
    signer = signing.Signer(salt="accounts.invitation")

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField(max_length=SHORT)

    class Meta:
        ordering = ["account", "email"]
        constraints = [
            models.UniqueConstraint("account", Lower("email"), name="invited_to_account_once")
        ]

    def __str__(self) -> str:
        return f"{self.email} to {self.account}"

    @property
    def expires_at(self) -> datetime:
        """The time at which the link stops working."""
        return (self.created_at or timezone.now()) + self.LIFE

    @property
    def link(self) -> str:
        """The URL of the page on which the person accepts the invitation. Its token is secret."""
        return f"{settings.PUBLIC_URL}/invitation?token={self.signer.sign(self.pk.hex)}"

    @classmethod
    def find(cls, token: str) -> "Invitation | None":
        """Find the invitation for a token.

        Returns None if the token is invalid, or if the invitation has expired or no longer exists.
        """
        try:
            key = cls.signer.unsign(token)
        except signing.BadSignature:
            return None
        valid = cls.objects.filter(created_at__gt=timezone.now() - cls.LIFE)
        return valid.select_related("account").filter(pk=key).first()
