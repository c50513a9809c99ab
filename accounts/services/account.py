"""Create accounts and, if needed, their owners."""

from django.db import transaction

from accounts.models import Account, Plan
from accounts.services.user import check_active, find_or_create_user


def create_account(*, name: str, owner_email: str, plan: Plan) -> Account:
    """Create an account, and its owner if needed. Raises ValueError if the owner is deactivated."""
    with transaction.atomic():
        owner = find_or_create_user(owner_email)
        check_active(owner)
        return Account.objects.create(name=name, owner=owner, plan=plan)
