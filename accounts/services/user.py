"""Find, create and delete people. Audit trail entries that refer to a deleted person are kept."""

from django.db import IntegrityError, transaction

from accounts.models import ApiKey, User


def find_or_create_user(email: str, *, name: str = "") -> User:
    """Find a person by email, ignoring letter case, or create one who cannot sign in yet."""
    found = User.objects.find(email)
    if found:
        return found
    try:
        with transaction.atomic():
            return User.objects.create_user(email, name=name)
    except IntegrityError:  # created by another request in the meantime
        return User.objects.get_by_natural_key(email)


def check_active(user: User) -> None:
    """Raise ValueError if a person is deactivated, or has not confirmed the email address."""
    if not user.is_active:
        raise ValueError(f"{user.email} is deactivated: activate this person first")
    if not user.email_confirmed:
        raise ValueError(f"{user.email} is not confirmed: its owner must first reset the password")


def confirm_email(user: User) -> None:
    """Store the password that a person has chosen with a link sent to their address.

    Somebody else may have used the address before it was confirmed, so the user's keys are revoked.
    All sessions end because the password changes. Other columns keep what was stored in the
    meantime, for example by somebody who deactivated the person.
    """
    with transaction.atomic():
        if not user.email_confirmed:
            ApiKey.objects.filter(user=user).revoke()
        user.email_confirmed = True
        user.save(update_fields=["password", "email_confirmed"])


def delete_user(user: User) -> None:
    """Remove a person's access, memberships and email address, but keep the row and the name.

    The row is kept because audit trail entries refer to it.
    """
    with transaction.atomic():
        user.memberships.all().delete()
        ApiKey.objects.filter(user=user).revoke()
        user.name = user.name or "a deleted person"
        user.email = f"{user.pk}@deleted.invalid"
        user.set_unusable_password()
        user.is_active = user.is_superuser = False
        user.save()
