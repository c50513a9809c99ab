"""Create users of the admin, and clients that are signed in as them.

Everyone who owns an account or is a member of one may use the admin.
"""

from typing import Any

from django.test import Client

from accounts.models import User
from tests.factories.accounts import UserFactory


def superuser(**columns: Any) -> User:
    """Create a user with all permissions."""
    return UserFactory(is_superuser=True, **columns)


def signed_in(user: User, **options: Any) -> Client:
    """Return a client that is signed in as a user."""
    client = Client(**options)
    client.force_login(user)
    return client
