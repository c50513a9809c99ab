"""The members on an account's page: roles, chatbots, and details that only some people see."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Account, Invitation, Membership
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.chatbots import ChatbotFactory, ChatbotMemberFactory
from tests.factories.staff import signed_in, superuser
from tests.pages import submit

pytestmark = pytest.mark.django_db


@pytest.fixture
def account(default_model: object) -> Account:
    return AccountFactory()


@pytest.fixture
def ann(account: Account) -> Membership:
    """A member who was added to one of two chatbots, and who also belongs to another account."""
    last = datetime(2025, 11, 23, tzinfo=UTC)
    user = UserFactory(email="ann@example.com", name="Ann", last_login=last)
    ChatbotFactory(account=account)
    ChatbotMemberFactory(chatbot=ChatbotFactory(account=account), user=user)
    other = MembershipFactory(user=user).account
    ChatbotMemberFactory(chatbot=ChatbotFactory(account=other), user=user)
    return MembershipFactory(account=account, user=user)


def shown(client: Client, account: Account) -> dict[str, list[str]]:
    """Return the read-only columns of each member, by email address."""
    page = client.get(reverse("admin:accounts_account_change", args=[account.pk]))
    [formset] = [
        one for one in page.context["inline_admin_formsets"] if one.opts.model is Membership
    ]
    found = {}
    for row in formset:
        if row.original:
            values = [
                re.sub("<[^>]+>", "", str(field.contents())).strip()
                for line in next(iter(row))
                for field in line
                if field.is_readonly
            ]
            found[row.original.user.email] = values
    return found


def test_a_superuser_sees_names_and_sign_ins_of_all_and_a_manager_of_the_accounts_own_people(
    account: Account, ann: Membership
) -> None:
    MembershipFactory(account=account, user__email="bob@example.com", user__name="Bob")
    rows = shown(signed_in(superuser()), account)
    assert rows["ann@example.com"][:3] == ["ann@example.com", "Ann", "1"]
    assert rows["ann@example.com"][3].startswith("2025-")
    rows = shown(signed_in(account.owner), account)
    assert rows["ann@example.com"] == ["ann@example.com", "hidden", "1", "hidden"]
    assert rows["bob@example.com"] == ["bob@example.com", "Bob", "0", "never"]


@pytest.mark.parametrize(
    ("role", "given", "warned"),
    [
        ("SUPER_ADMIN", {"DELETE": "on"}, True),
        ("SUPER_ADMIN", {"role": "MEMBER"}, True),
        ("SUPER_ADMIN", {"permissions": ["CHATBOT_VIEW"]}, False),
        ("MEMBER", {"DELETE": "on"}, False),
    ],
)
@pytest.mark.parametrize("invited", [True, False])
def test_the_end_of_a_managers_rights_recalls_open_invitations(
    account: Account, role: str, given: dict[str, Any], warned: bool, invited: bool
) -> None:
    """The manager may have sent invitations, or copied their links."""
    MembershipFactory(account=account, role=role)
    if invited:
        Invitation.objects.create(account=account, email="eve@example.com")
    client = signed_in(account.owner)
    page = reverse("admin:accounts_account_change", args=[account.pk])
    changes = {f"memberships-0-{name}": value for name, value in given.items()}
    answer = submit(client, page, **changes)
    assert answer.status_code == 302
    shown = "still work, even if a former manager" in client.get(answer["Location"]).text
    assert shown is (warned and invited)
