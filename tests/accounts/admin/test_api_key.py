"""Keys in the admin: shown once, revoked by a POST, issued for one's own people alone."""

import re

import pytest
from django.urls import reverse

from accounts.models import ApiKey, User
from accounts.services import api_key
from tests.conftest import Api
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff, superuser

LIST = reverse("admin:accounts_apikey_changelist")
ISSUE = reverse("admin:accounts_apikey_add")
KEY = re.compile(r"cbk_\w{8}_\w{49}")
MINE = "/v1/chatbots/my-chatbots"


@pytest.fixture
def owner(default_model: object) -> User:
    return staff(AccountFactory().owner, ACCOUNT_ADMINS)


def test_a_new_key_is_shown_once_and_opens_the_api(owner):
    client = signed_in(owner)
    page = client.post(ISSUE, {"email": owner.email, "label": "shop", "days": "30"})
    [key] = KEY.findall(page.content.decode())
    assert "no-store" in page["Cache-Control"]
    assert Api(key).get(MINE).status_code == 200
    row = ApiKey.objects.get()
    assert (row.label, row.user) == ("shop", owner)
    for address in (LIST, reverse("admin:accounts_apikey_change", args=[row.pk])):
        assert not KEY.search(client.get(address).content.decode())


def test_a_key_is_revoked_by_its_button(owner):
    row, key = api_key.issue(owner)
    address = reverse("admin:accounts_apikey_revoke", args=[row.pk])
    client = signed_in(owner)
    assert client.get(address).status_code == 405
    assert Api(key).get(MINE).status_code == 200
    client.post(address)
    assert Api(key).get(MINE).status_code == 401


def test_a_button_needs_its_token(owner):
    row, key = api_key.issue(owner)
    client = signed_in(owner, enforce_csrf_checks=True)
    assert client.post(reverse("admin:accounts_apikey_revoke", args=[row.pk])).status_code == 403
    assert Api(key).get(MINE).status_code == 200


def test_chosen_keys_are_revoked_together(owner):
    keys = [api_key.issue(owner)[0] for _ in range(3)]
    chosen = [str(key.pk) for key in keys[:2]]
    signed_in(owner).post(LIST, {"action": "revoke_selected", "_selected_action": chosen})
    assert [ApiKey.objects.get(pk=key.pk).state for key in keys] == ["revoked", "revoked", "active"]


def person(kind: str, owner: User) -> User:
    """Make somebody beside the account's manager."""
    account = owner.owned_accounts.get()
    match kind:
        case "member":
            return MembershipFactory(account=account).user
        case "member of another account too":
            user = MembershipFactory(account=account).user
            MembershipFactory(user=user)
            return user
        case "owner of another account":
            return MembershipFactory(account=account, user=AccountFactory().owner).user
        case "superuser":
            return MembershipFactory(account=account, user=superuser()).user
    return UserFactory()


@pytest.mark.parametrize(
    ("kind", "may"),
    [
        ("member", True),
        ("member of another account too", False),
        ("owner of another account", False),
        ("superuser", False),
        ("stranger", False),
    ],
)
def test_a_manager_handles_keys_of_people_who_are_in_no_other_account(owner, kind, may):
    """A key opens all that its owner may use: also the accounts that are not the manager's."""
    other = person(kind, owner)
    row, key = api_key.issue(other)
    client = signed_in(owner)
    page = client.post(ISSUE, {"email": other.email, "label": "", "days": ""})
    assert bool(KEY.search(page.content.decode())) is may
    assert (row.prefix in client.get(LIST).content.decode()) is may
    client.post(reverse("admin:accounts_apikey_revoke", args=[row.pk]))
    assert (Api(key).get(MINE).status_code == 401) is may


@pytest.mark.parametrize("days", ["0", "-1", "99999", "soon"])
def test_a_life_that_cannot_be_is_refused(owner, days):
    page = signed_in(owner).post(ISSUE, {"email": owner.email, "label": "", "days": days})
    assert page.status_code == 200
    assert not ApiKey.objects.exists()
