"""Accounts and their members in the admin."""

import pytest
from django.urls import reverse

from accounts.models import Account
from tests.factories.accounts import PlanFactory
from tests.factories.staff import signed_in, superuser

pytestmark = pytest.mark.django_db


def test_a_new_account_gets_the_add_on_of_its_plan_and_an_owner_found_by_email() -> None:
    plan = PlanFactory(name="Scale", webhooks_by_default=True)
    client = signed_in(superuser())
    client.post(
        reverse("admin:accounts_account_add"),
        {"name": "Acme", "owner_email": "New@Example.com", "plan": str(plan.pk)},
    )
    account = Account.objects.get(name="Acme")
    assert (account.owner.email, account.webhooks_enabled) == ("New@Example.com", True)
    assert not account.owner.has_usable_password()
