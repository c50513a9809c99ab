"""Create users of the admin, and clients that are signed in as them."""

from typing import Any

from django.contrib.auth.models import Group
from django.test import Client

from accounts.models import User
from tests.factories.accounts import UserFactory

AGENTS, ACCOUNT_ADMINS = "Agents", "Account admins"


def staff(user: User, group: str) -> User:
    """Give a user access to the admin, add the user to a group, and return the user."""
    user.is_staff = True
    user.save()
    user.groups.add(Group.objects.get(name=group))
    return user


def superuser(**columns: Any) -> User:
    """Create a user with all permissions."""
    return UserFactory(is_staff=True, is_superuser=True, **columns)


def signed_in(user: User, **options: Any) -> Client:
    """Return a client that is signed in as a user."""
    client = Client(**options)
    client.force_login(user)
    return client
