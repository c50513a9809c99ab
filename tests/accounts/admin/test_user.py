"""Users in the admin: what managers see of them, and what remains after a deletion."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account, User
from accounts.services import api_key
from tests.conftest import Api
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.staff import signed_in, superuser
from tests.pages import submit

pytestmark = pytest.mark.django_db
LIST, ADD = reverse("admin:accounts_user_changelist"), reverse("admin:accounts_user_add")


def page_of(user: User, page: str = "change") -> str:
    return reverse(f"admin:accounts_user_{page}", args=[user.pk])


@pytest.fixture
def account() -> Account:
    return AccountFactory()


@pytest.fixture
def manager(account: Account) -> Client:
    return signed_in(account.owner)


@pytest.fixture
def ann() -> User:
    user = UserFactory(email="ann@example.com", name="Ann Other")
    user.set_password("a-long-and-good-one")
    user.last_login = timezone.now()
    user.save()
    return user


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_manager_sees_only_the_address_of_people_in_other_accounts(
    manager: Client, account: Account, ann: User, elsewhere: bool
) -> None:
    MembershipFactory(account=account, user=ann)
    if elsewhere:
        MembershipFactory(user=ann)
    listed, page = manager.get(LIST).content.decode(), manager.get(page_of(ann)).content.decode()
    assert "ann@example.com" in listed
    assert "ann@example.com" in page
    assert ("Ann Other" in listed) is not elsewhere
    assert "MEMBER of" in listed
    assert ("Ann Other" in page) is not elsewhere
    history = manager.get(page_of(ann, "history")).status_code
    assert history == (403 if elsewhere else 200)
    account_page = reverse("admin:accounts_account_change", args=[account.pk])
    assert ("Ann Other" in manager.get(account_page).content.decode()) == (not elsewhere)
    assert "ann@example.com" not in manager.get(LIST, {"q": "Ann O"}).content.decode()


@pytest.mark.parametrize("who", ["manager", "superuser"])
def test_no_page_shows_any_part_of_a_digest(
    manager: Client, account: Account, ann: User, who: str
) -> None:
    MembershipFactory(account=account, user=ann)
    client = manager if who == "manager" else signed_in(superuser())
    page = client.get(page_of(ann)).content.decode()
    _, _, salt, digest = ann.password.split("$")
    assert "pbkdf2" not in page
    assert salt[:6] not in page
    assert digest[:6] not in page


def test_a_person_can_be_created_with_a_password_and_changed() -> None:
    client = signed_in(superuser())
    secret = "a-long-and-good-one"
    given = {"email": "kim@example.com", "name": "Kim", "usable_password": "true"}
    client.post(ADD, given | {"password1": secret, "password2": secret})
    kim = User.objects.get(email="kim@example.com")
    assert kim.check_password(secret)
    submit(client, page_of(kim), name="Kim B.")
    kim.refresh_from_db()
    assert (kim.name, kim.check_password(secret)) == ("Kim B.", True)


def test_a_deleted_person_loses_access_and_stays_in_the_history(
    ann: User, default_model: Any
) -> None:
    account = MembershipFactory(user=ann, role="SUPER_ADMIN").account
    key = api_key.issue(ann)[1]
    client = signed_in(ann)
    submit(client, reverse("admin:accounts_account_change", args=[account.pk]), name="Renamed")
    root = signed_in(superuser())
    asked = root.get(page_of(ann, "delete")).content.decode()
    assert "access, memberships, keys and email address" in asked
    root.post(page_of(ann, "delete"), {"post": "yes"})
    assert LogEntry.objects.filter(object_id=account.pk, user=ann.pk).count() == 1
    history = reverse("admin:accounts_account_history", args=[account.pk])
    assert "Ann Other" in root.get(history).content.decode()
    assert Api(key).get("/v1/chatbots").status_code == 401
    assert client.get(reverse("admin:index")).status_code == 302
    assert User.objects.find("ann@example.com") is None
    assert not ann.memberships.exists()


def test_an_account_owner_cannot_be_deleted(account: Account) -> None:
    page = signed_in(superuser()).post(page_of(account.owner, "delete"), {"post": "yes"})
    assert account.name in page.content.decode()
    assert User.objects.find(account.owner.email) == account.owner
