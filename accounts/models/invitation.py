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


class InvitationQuerySet(models.QuerySet["Invitation"]):
    """A queryset of invitations, with a method that leaves out the expired ones."""

    def valid(self) -> "InvitationQuerySet":
        """Select the invitations that have not expired."""
        return self.filter(updated_at__gt=timezone.now() - Invitation.LIFE)


class Invitation(Standing):
    """An invitation to an email address. Anyone who has one of its links can accept it.

    Only the emailed link proves that a person receives email at the address. A manager can copy a
    different link and pass it on. Both work until the invitation is accepted or withdrawn, or until
    LIFE has passed since it was last sent.
    """

    LIFE = timedelta(days=7)
    mailed = signing.Signer(salt="accounts.invitation")
    copied = signing.Signer(salt="accounts.invitation.copied")

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField(max_length=SHORT)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["account", "email"]
        constraints = [
            models.UniqueConstraint("account", Lower("email"), name="invited_to_account_once")
        ]

    def __str__(self) -> str:
        return f"{self.email} to {self.account}"

    @property
    def expires_at(self) -> datetime:
        """The time at which the links stop working. Sending the invitation again postpones it."""
        return (self.updated_at or timezone.now()) + self.LIFE

    def link(self, signer: signing.Signer) -> str:
        """Return the URL on which the person accepts the invitation. Its token is secret."""
        return f"{settings.PUBLIC_URL}/invitation?token={signer.sign(self.pk.hex)}"

    @classmethod
    def find(cls, token: str) -> "tuple[Invitation, bool] | None":
        """Find the invitation for a token. Also returns whether the token is from the email.

        Returns None if the token is invalid, or if the invitation has expired or no longer exists.
        """
        for signer in (cls.mailed, cls.copied):
            try:
                found = cls.objects.valid().filter(pk=signer.unsign(token)).first()
            except signing.BadSignature:
                continue
            return (found, signer is cls.mailed) if found else None
        return None
