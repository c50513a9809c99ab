"""Invite people to accounts, and make them members when they accept."""

from django.db import transaction

from accounts import notifications
from accounts.models import Invitation, Membership
from accounts.services.user import find_or_create_user


def invite(invitation: Invitation) -> None:
    """Store an invitation with the email that delivers it."""
    with transaction.atomic():
        invitation.save()
        notifications.invited(invitation)


def accept(invitation: Invitation) -> bool:
    """Make the invited person a member.

    Returns False if the invitation has been accepted or withdrawn, or if the person is deactivated.
    Also returns False if the lookup by email finds a user with a different address.
    """
    with transaction.atomic():
        still_there = Invitation.objects.select_for_update().filter(pk=invitation.pk)
        if not still_there.first():
            return False
        user = find_or_create_user(invitation.email)
        if not user.is_active:
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
