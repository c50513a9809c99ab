"""The list of changes: an owner sees all acts on the account, and finds some of them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account, Change, User
from accounts.services import api_key
from config.runtime.context import Context, acting
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.row import in_trail
from tests.factories.staff import signed_in

pytestmark = pytest.mark.django_db
LIST = reverse("admin:accounts_change_changelist")


@pytest.fixture
def account() -> Account:
    return AccountFactory(name="Acme")


def listed(client: Client, **query: str) -> set[str]:
    """Return the ids of the rows whose changes are listed."""
    page = client.get(LIST, query)
    assert page.status_code == 200, page.text
    return {change.object_pk for change in page.context["cl"].result_list}


def test_an_owner_sees_changes_to_keys_that_work_in_their_account(account: Account) -> None:
    member = MembershipFactory(account=account).user
    of_others = MembershipFactory(user=AccountFactory().owner, account=account).user
    with in_trail():
        own, joined, elsewhere = (
            api_key.issue(user)[0] for user in (account.owner, member, of_others)
        )
        api_key.revoke(own)
    found = listed(signed_in(account.owner))
    assert {str(own.pk), str(joined.pk)} <= found
    assert str(elsewhere.pk) not in found
    assert Change.objects.filter(object_pk=own.pk, account=account).count() > 1


def test_changes_are_filtered_by_person_kind_and_time(account: Account) -> None:
    kim, sam = (MembershipFactory(account=account, role="SUPER_ADMIN").user for _ in range(2))
    client = signed_in(account.owner)

    def rename(person: User, name: str) -> None:
        with in_trail(), acting(Context(person=person.pk, via="admin")):
            account.name = name
            account.save()

    rename(kim, "Beta")
    Change.objects.update(timestamp=timezone.now() - timedelta(days=3))
    rename(sam, "Gamma")
    with in_trail(), acting(Context(person=kim.pk, via="admin")):
        key, _ = api_key.issue(kim, account=account)
    assert listed(client) == {str(account.pk), str(key.pk)}
    assert listed(client, actor=str(sam.pk)) == {str(account.pk)}
    assert listed(client, kind="accounts.ApiKey") == {str(key.pk)}
    assert listed(client, actor=str(sam.pk), kind="accounts.ApiKey") == set()
    today = f"{timezone.now() - timedelta(days=1):%Y-%m-%d}"
    assert listed(client, actor=str(kim.pk), timestamp_from_0=today) == {str(key.pk)}
    page = client.get(LIST).text
    assert kim.email in page
    assert UserFactory().email not in page
