"""Invite people to accounts, and make them members when they accept."""

from django.db import IntegrityError, transaction

from accounts import notifications
from accounts.models import Invitation, Membership, User


def invite(invitation: Invitation) -> None:
    """Store an invitation, along with the email that delivers it."""
    with transaction.atomic():
        invitation.save()
        notifications.invited(invitation)


def invite_again(invitation: Invitation) -> bool:
    """Store another email for an invitation, whose links then work for Invitation.LIFE.

    Returns False if the invitation has been accepted or withdrawn.
    """
    with transaction.atomic():
        kept = Invitation.objects.select_for_update().filter(pk=invitation.pk).first()
        if kept:
            invite(kept)
        return kept is not None


def accept(invitation: Invitation, user: User) -> bool:
    """Make a person who already has a user a member.

    Returns False if the invitation has been accepted or withdrawn, or if the user is deactivated or
    has not confirmed the email address, or if the lookup by email found a user with a different
    address.
    """
    with transaction.atomic():
        if not Invitation.objects.select_for_update().valid().filter(pk=invitation.pk).first():
            return False
        if not (user.is_active and user.email_confirmed):
            return False
        if user.email.lower() != invitation.email.lower():
            return False  # PostgreSQL's LOWER treats some different letters as equal
        Membership.objects.get_or_create(
            account=invitation.account,
            user=user,
            defaults={"role": invitation.role, "permissions": invitation.permissions},
        )
        invitation.delete()
        return True


def join(invitation: Invitation, user: User, *, confirmed: bool) -> bool:
    """Store a new user with the invitation's address, and make them a member.

    `confirmed` says whether the emailed link was opened. Returns False if the invitation has been
    accepted or withdrawn, or if another request has created a user with this address.
    """
    try:
        with transaction.atomic():
            user.save()
            joined = accept(invitation, user)
            user.email_confirmed = confirmed
            user.save(update_fields=["email_confirmed"])
            transaction.set_rollback(not joined)
            return joined
    except IntegrityError:
        return False
