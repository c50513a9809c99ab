"""Open an account with its owner."""

from django.db import transaction

from accounts.models import Account, Plan, User


def find_or_create_user(email: str, *, name: str = "") -> User:
    """Find a person by e-mail, whatever its letter case, or make one who cannot sign in yet."""
    found = User.objects.filter(email__iexact=email).first()
    return found or User.objects.create_user(email, name=name)


def create_account(*, name: str, owner_email: str, plan: Plan) -> Account:
    """Make an account; its owner is made where he or she is not known yet."""
    with transaction.atomic():
        return Account.objects.create(name=name, owner=find_or_create_user(owner_email), plan=plan)
