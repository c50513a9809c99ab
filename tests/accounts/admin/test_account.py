"""Accounts in the admin: creation, search, usage and history."""

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account, Plan, Usage
from accounts.quotas import month_of
from tests.factories.accounts import AccountFactory, PlanFactory, UserFactory
from tests.factories.chatbots import ChatbotFactory
from tests.factories.staff import signed_in, superuser
from tests.pages import submit

pytestmark = pytest.mark.django_db


def test_a_new_account_gets_the_add_on_of_its_plan_and_a_new_owner() -> None:
    plan = PlanFactory(name="Scale", webhooks_by_default=True)
    client = signed_in(superuser())
    client.post(
        reverse("admin:accounts_account_add"),
        {"name": "Acme", "owner_email": "New@Example.com", "plan": str(plan.pk)},
    )
    account = Account.objects.get(name="Acme")
    assert (account.owner.email, account.webhooks_enabled) == ("New@Example.com", True)
    assert not account.owner.has_usable_password()


def test_a_deactivated_person_does_not_become_an_owner() -> None:
    former, account, client = UserFactory(is_active=False), AccountFactory(), signed_in(superuser())
    given = {"name": "Acme", "owner_email": former.email, "plan": str(account.plan_id)}
    page = client.post(reverse("admin:accounts_account_add"), given)
    assert f"{former.email} is deactivated" in page.text
    change = reverse("admin:accounts_account_change", args=[account.pk])
    page = submit(client, change, owner=str(former.pk))
    assert f"{former.email} is deactivated" in page.text
    [kept] = Account.objects.all()
    assert kept.owner == account.owner


@pytest.mark.parametrize(
    ("quota", "messages", "shown", "state"),
    [
        (None, 12_000, "<b>12,000</b>", None),
        (10_000, 7_900, "<b>7,900 / 10,000</b>", None),
        (10_000, 8_214, "<b>8,214 / 10,000</b>", '<span class="state busy">82% used</span>'),
        (10_000, 10_000, "<b>10,000 / 10,000</b>", '<span class="state bad">used up</span>'),
    ],
)
def test_an_account_shows_how_much_of_its_plan_is_used(
    quota: int | None, messages: int, shown: str, state: str | None
) -> None:
    account = AccountFactory()
    Plan.objects.update(monthly_messages=quota, max_chatbots=5)
    if messages:
        month, _ = month_of(timezone.now())
        Usage.objects.create(account=account, month=month, messages=messages)
    for _ in range(3):
        ChatbotFactory(account=account)
    address = reverse("admin:accounts_account_change", args=[account.pk])
    text = signed_in(superuser()).get(address).text
    assert shown in text
    assert "<b>3 / 5</b> chatbots" in text
    assert state in text if state else 'class="state' not in text
