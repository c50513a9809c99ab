"""Deleting a plan in the admin."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Account, Plan
from tests.factories.accounts import AccountFactory, PlanFactory
from tests.factories.staff import signed_in, superuser

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return signed_in(superuser())


def deletion(plan: Plan) -> str:
    return reverse("admin:accounts_plan_delete", args=[plan.pk])


def test_a_plan_with_accounts_is_kept_and_the_page_names_them(client: Client) -> None:
    account: Account = AccountFactory(name="Corner shop")
    page = client.get(deletion(account.plan)).text
    assert "account Corner shop" in page
    assert "have permission" not in page
    client.post(deletion(account.plan), {"post": "yes"})
    assert Plan.objects.filter(pk=account.plan.pk).exists()


def test_a_plan_without_accounts_is_deleted(client: Client) -> None:
    plan = PlanFactory(name="Retired")
    assert "Retired" in client.get(deletion(plan)).text
    client.post(deletion(plan), {"post": "yes"})
    assert not Plan.objects.filter(pk=plan.pk).exists()
