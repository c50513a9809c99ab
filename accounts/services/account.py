"""Create accounts with their owners, and invite people into them."""

from django.db import IntegrityError, transaction

from accounts import notifications
from accounts.models import Account, Invitation, Membership, Plan, User


def find_or_create_user(email: str, *, name: str = "") -> User:
    """Find a person by e-mail, ignoring letter case, or create one who cannot sign in yet."""
    found = User.objects.find(email)
    if found:
        return found
    try:
        with transaction.atomic():
            return User.objects.create_user(email, name=name)
    except IntegrityError:  # created by another request in the meantime
        return User.objects.get_by_natural_key(email)


def create_account(*, name: str, owner_email: str, plan: Plan) -> Account:
    """Create an account, and its owner if needed."""
    with transaction.atomic():
        return Account.objects.create(name=name, owner=find_or_create_user(owner_email), plan=plan)


def invite(invitation: Invitation) -> None:
    """Store an invitation with the mail that delivers it."""
    with transaction.atomic():
        invitation.save()
        notifications.invited(invitation)


def accept(invitation: Invitation) -> bool:
    """Make the invited person a member. False if the invitation was accepted or withdrawn."""
    with transaction.atomic():
        still_there = Invitation.objects.select_for_update().filter(pk=invitation.pk)
        if not still_there.first():
            return False
        user = find_or_create_user(invitation.email)
        if user.email.lower() != invitation.email.lower():
            return False  # PostgreSQL's LOWER equates some letters: this is another mailbox
        Membership.objects.get_or_create(
            account=invitation.account,
            user=user,
            defaults={"role": invitation.role, "permissions": invitation.permissions},
        )
        invitation.delete()
        return True
