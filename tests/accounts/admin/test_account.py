"""Accounts and their people in the admin."""

import pytest
from django.urls import reverse

from accounts.models import Account, Membership, User
from tests.factories.accounts import AccountFactory, PlanFactory, UserFactory
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff, superuser
from tests.pages import submit

pytestmark = pytest.mark.django_db


def rows(*given: dict[str, str]) -> dict[str, str]:
    """Write members as the page's form sends them."""
    form = {"memberships-TOTAL_FORMS": str(len(given)), "memberships-INITIAL_FORMS": "0"}
    for index, row in enumerate(given):
        form |= {f"memberships-{index}-{name}": value for name, value in row.items()}
    return form


def test_a_new_account_takes_its_add_on_from_its_plan_and_its_owner_by_email():
    plan = PlanFactory(name="Scale", webhooks_by_default=True)
    client = signed_in(superuser())
    client.post(
        reverse("admin:accounts_account_add"),
        {"name": "Acme", "owner_email": "New@Example.com", "plan": str(plan.pk)},
    )
    account = Account.objects.get(name="Acme")
    assert (account.owner.email, account.webhooks_enabled) == ("New@Example.com", True)
    assert not account.owner.has_usable_password()


def test_a_manager_adds_people_by_email_known_or_not():
    account, known = AccountFactory(), UserFactory(email="known@example.com")
    client = signed_in(staff(account.owner, ACCOUNT_ADMINS))
    new = {"email": "new@example.com", "role": "MEMBER", "permissions": "CHATBOT_VIEW"}
    old = {"email": "KNOWN@example.com", "role": "SUPER_ADMIN"}
    answer = submit(
        client,
        reverse("admin:accounts_account_change", args=[account.pk]),
        **rows(new, old),
    )
    assert answer.status_code == 302
    members = {m.user.email: (m.role, m.permissions) for m in Membership.objects.all()}
    assert members == {
        "new@example.com": ("MEMBER", ["CHATBOT_VIEW"]),
        known.email: ("SUPER_ADMIN", []),
    }
    assert not User.objects.get(email="new@example.com").is_staff


def test_nobody_is_a_member_twice():
    account = AccountFactory()
    member = Membership.objects.create(account=account, user=UserFactory())
    client = signed_in(superuser())
    address = reverse("admin:accounts_account_change", args=[account.pk])
    again = {
        "memberships-TOTAL_FORMS": "2",
        "memberships-1-email": member.user.email.upper(),
        "memberships-1-role": "MEMBER",
    }
    page = submit(client, address, **again)
    assert "this person is a member already" in page.content.decode()
    assert Membership.objects.count() == 1


def test_a_person_is_made_with_a_password_and_changed():
    client = signed_in(superuser())
    secret = "a-long-and-good-one"
    client.post(
        reverse("admin:accounts_user_add"),
        {
            "email": "kim@example.com",
            "name": "Kim",
            "usable_password": "true",
            "password1": secret,
            "password2": secret,
        },
    )
    kim = User.objects.get(email="kim@example.com")
    assert kim.check_password(secret)
    submit(
        client, reverse("admin:accounts_user_change", args=[kim.pk]), name="Kim B.", is_staff="on"
    )
    kim.refresh_from_db()
    assert (kim.name, kim.is_staff, kim.check_password(secret)) == ("Kim B.", True, True)
