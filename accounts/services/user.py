"""Delete people but keep the audit trail."""

from django.db import transaction

from accounts.models import ApiKey, User


def delete_user(user: User) -> None:
    """Delete a person's access, memberships and e-mail address; the name stays for the audit trail.

    The row stays because entries of the trail refer to it.
    """
    with transaction.atomic():
        user.memberships.all().delete()
        user.groups.clear()
        ApiKey.objects.filter(user=user).revoke()
        user.name = user.get_full_name()
        user.email = f"{user.pk}@deleted.invalid"
        user.set_unusable_password()
        user.is_active = user.is_staff = user.is_superuser = False
        user.save()
