"""Create accounts with their owners."""

from django.db import transaction

from accounts.models import Account, Plan
from accounts.services.user import find_or_create_user


def create_account(*, name: str, owner_email: str, plan: Plan) -> Account:
    """Create an account, and its owner if needed."""
    with transaction.atomic():
        return Account.objects.create(name=name, owner=find_or_create_user(owner_email), plan=plan)
