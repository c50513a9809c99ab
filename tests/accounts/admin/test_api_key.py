"""API keys in the admin are shown once, only to their owner, and are revoked by a POST."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import ApiKey, User
from accounts.services import api_key
from tests.conftest import Api
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.staff import signed_in, superuser
from tests.pages import fields_of

LIST = reverse("admin:accounts_apikey_changelist")
ISSUE = reverse("admin:accounts_apikey_add")
KEY = re.compile(r"cbk_\w{8}_\w{49}")
MINE = "/v1/chatbots/my-chatbots"


@pytest.fixture
def owner(default_model: object) -> User:
    return AccountFactory().owner


def test_a_new_key_works_and_is_shown_only_once(owner: User) -> None:
    client = signed_in(owner)
    page = client.post(ISSUE, {"email": owner.email, "label": "shop", "days": "30"})
    [key] = KEY.findall(page.content.decode())
    assert "no-store" in page["Cache-Control"]
    assert Api(key).get(MINE).status_code == 200
    row = ApiKey.objects.get()
    assert (row.label, row.user) == ("shop", owner)
    for address in (LIST, reverse("admin:accounts_apikey_change", args=[row.pk])):
        shown = client.get(address).content.decode()
        assert f"{row.last_used_at:%Y-%m-%d %H}:00 UTC" in shown
        assert not KEY.search(shown)


def test_a_key_is_revoked_after_one_confirmation(owner: User) -> None:
    row, key = api_key.issue(owner, label="Shop")
    address = reverse("admin:accounts_apikey_revoke", args=[row.pk])
    client = signed_in(owner)
    asked = client.get(address).content.decode()
    for wanted in (row.prefix, "“Shop”", owner.email, "refused immediately"):
        assert wanted in asked
    assert Api(key).get(MINE).status_code == 200
    client.post(address)
    assert Api(key).get(MINE).status_code == 401
    revoked_at = ApiKey.objects.get().revoked_at
    client.post(address)
    assert ApiKey.objects.get().revoked_at == revoked_at
    assert client.get(address).status_code == 302


def test_a_rotated_key_works_until_its_grace_period_ends(owner: User) -> None:
    row, key = api_key.issue(owner, label="Shop", days=90)
    address = reverse("admin:accounts_apikey_rotate", args=[row.pk])
    client = signed_in(owner)
    form = fields_of(client.get(address))
    assert form["grace"] == "24"
    shown = client.post(address, form | {"grace": "1"})
    [new] = KEY.findall(shown.content.decode())
    assert "no-store" in shown["Cache-Control"]
    for text in (key, new):
        assert Api(text).get(MINE).status_code == 200
    old, fresh = ApiKey.objects.get(pk=row.pk), ApiKey.objects.exclude(pk=row.pk).get()
    assert (old.state, fresh.state, fresh.label) == ("replaced", "active", "Shop")
    assert fresh.expires_at == row.expires_at
    assert abs(old.expires_at - timezone.now() - timedelta(hours=1)) < timedelta(minutes=1)
    page = client.get(reverse("admin:accounts_apikey_change", args=[row.pk])).content.decode()
    assert f'works until <time datetime="{old.expires_at:%Y-%m-%dT%H:%M}' in page
    assert client.post(address, form).status_code == 302
    assert client.get(address).status_code == 302
    assert ApiKey.objects.count() == 2


def test_only_its_owner_can_rotate_a_key(owner: User) -> None:
    row, key = api_key.issue(person("member", owner))
    address = reverse("admin:accounts_apikey_rotate", args=[row.pk])
    client = signed_in(owner)
    page = client.get(reverse("admin:accounts_apikey_change", args=[row.pk])).content.decode()
    assert address not in page
    assert client.post(address, {"grace": "0"}).status_code == 403
    assert Api(key).get(MINE).status_code == 200


def person(kind: str, owner: User) -> User:
    """Create another staff user, with the given relation to the account."""
    account = owner.owned_accounts.get()
    match kind:
        case "member":
            user = MembershipFactory(account=account).user
        case "member of another account too":
            user = MembershipFactory(account=account).user
            MembershipFactory(user=user)
        case "owner of another account":
            user = MembershipFactory(account=account, user=AccountFactory().owner).user
        case "superuser":
            user = MembershipFactory(account=account, user=superuser()).user
        case _:
            user = UserFactory()
    return user


OTHERS = [
    ("member", True),
    ("member of another account too", False),
    ("owner of another account", False),
    ("superuser", False),
    ("stranger", False),
]


@pytest.mark.parametrize(("kind", "may"), OTHERS)
def test_a_manager_sees_and_revokes_only_keys_of_people_in_no_other_account(
    owner: User, kind: str, may: bool
) -> None:
    """An unbound key also gives access to its owner's other accounts."""
    row, key = api_key.issue(person(kind, owner))
    client = signed_in(owner)
    assert (row.prefix in client.get(LIST).content.decode()) is may
    client.post(reverse("admin:accounts_apikey_revoke", args=[row.pk]))
    assert (Api(key).get(MINE).status_code == 401) is may


@pytest.mark.parametrize("kind", [kind for kind, _ in OTHERS[:-1]])
def test_a_key_issued_by_another_person_is_shown_only_to_its_owner(owner: User, kind: str) -> None:
    other, account = person(kind, owner), owner.owned_accounts.get()
    manager, holder = signed_in(owner), signed_in(other)
    given = {"email": other.email, "label": "shop", "account": str(account.pk)}
    told = manager.post(ISSUE, given, follow=True).content.decode()
    row = ApiKey.objects.get()
    assert (row.user, row.account, row.label, row.state) == (other, account, "shop", "waiting")
    collect = reverse("admin:accounts_apikey_collect", args=[row.pk])
    for page in (told, manager.post(collect, follow=True).content.decode()):
        assert not KEY.search(page)
    assert "Show the key" not in told
    page = holder.get(reverse("admin:accounts_apikey_change", args=[row.pk])).content.decode()
    assert "Show the key" in page
    shown = holder.post(collect)
    [key] = KEY.findall(shown.content.decode())
    assert "no-store" in shown["Cache-Control"]
    assert Api(key).get(MINE).status_code == 200
    assert not KEY.search(holder.post(collect, follow=True).content.decode())
    assert manager.get(LIST).content.decode().count(row.prefix) > 0
    manager.post(reverse("admin:accounts_apikey_revoke", args=[row.pk]))
    assert Api(key).get(MINE).status_code == 401
