"""Invitations: a manager invites a person by email, and the person joins by accepting."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account, Invitation, Mail, Membership, User
from accounts.notifications import MAILS_PER_HOUR
from tests.conftest import caller
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.staff import ACCOUNT_ADMINS, signed_in, staff
from tests.pages import submit

pytestmark = pytest.mark.django_db
MINE = "/v1/chatbots/my-chatbots"


@pytest.fixture
def account() -> Account:
    return AccountFactory(name="Acme")


@pytest.fixture
def manager(account: Account) -> Client:
    return signed_in(staff(account.owner, ACCOUNT_ADMINS))


def page_of(account: Account) -> str:
    return reverse("admin:accounts_account_change", args=[account.pk])


def invite(manager: Client, account: Account, *given: dict[str, str]) -> HttpResponse:
    """Submit an account's page with new invitations."""
    form = {"invitations-TOTAL_FORMS": str(len(given)), "invitations-INITIAL_FORMS": "0"}
    for index, row in enumerate(given):
        form |= {f"invitations-{index}-{name}": value for name, value in row.items()}
    return submit(manager, page_of(account), **form)


def link(email: str) -> str:
    """Return the path of the invitation link that was sent to this email address."""
    [path] = re.findall(r"https?://[^/]+(/invitation\S+)", Mail.objects.get(to=email).text)
    return path


@pytest.mark.parametrize("email", ["known@example.com", "KNOWN@example.com", "new@example.com"])
def test_an_invited_person_becomes_a_member_only_by_accepting(
    manager: Client, account: Account, email: str, default_model: Any
) -> None:
    known = UserFactory(email="known@example.com")
    row = {"email": email, "role": "SUPER_ADMIN", "permissions": "CHATBOT_VIEW"}
    assert invite(manager, account, row).status_code == 302
    assert not Membership.objects.exists()
    assert caller(known).get(MINE).json()["data"]["accounts"] == []
    # A GET must not accept the invitation, because mail scanners open links too
    page = Client().get(link(email))
    assert (page.status_code, "no-store" in page["Cache-Control"]) == (200, True)
    assert "Acme" in page.content.decode()
    assert not Membership.objects.exists()
    accepted = Client().post(link(email))
    assert "You are now a member of Acme" in accepted.content.decode()
    [member] = Membership.objects.all()
    assert (member.user.email.lower(), member.account) == (email.lower(), account)
    assert (member.role, member.permissions) == ("SUPER_ADMIN", ["CHATBOT_VIEW"])
    assert User.objects.filter(email__iexact=email).count() == 1


def test_a_manager_learns_neither_who_is_known_nor_the_link(
    manager: Client, account: Account
) -> None:
    UserFactory(email="known@example.com", name="Ann Other")
    rows = [{"email": f"{name}@example.com", "role": "MEMBER"} for name in ("known", "other")]
    invite(manager, account, *rows)
    page = manager.get(page_of(account)).content.decode()
    assert "Ann Other" not in page
    assert page.count("known@example.com") == page.count("other@example.com") > 0
    token = link("other@example.com").partition("token=")[2]
    mail = Mail.objects.get(to="other@example.com")
    shown = manager.get(reverse("admin:accounts_mail_change", args=[mail.pk])).content.decode()
    assert token not in mail.body + page + shown


@pytest.mark.parametrize("end", ["deactivated", "accepted", "withdrawn", "expired", "forged"])
def test_an_invalid_invitation_creates_no_member(
    manager: Client, account: Account, end: str
) -> None:
    invite(manager, account, {"email": "ann@example.com", "role": "MEMBER"})
    address = link("ann@example.com")
    match end:
        case "deactivated":
            UserFactory(email="ann@example.com", is_active=False)
        case "accepted":
            Client().post(address)
            Membership.objects.all().delete()
        case "withdrawn":
            submit(manager, page_of(account), **{"invitations-0-DELETE": "on"})
        case "expired":
            Invitation.objects.update(created_at=timezone.now() - timedelta(days=7))
        case "forged":
            address = address[:-1] + ("A" if address[-1] != "A" else "B")
    answer = Client().post(address)
    valid = end == "deactivated"  # but an inactive person cannot accept it
    assert (answer.status_code, "not valid" in answer.text) == (409 if valid else 404, not valid)
    assert not Membership.objects.exists()


@pytest.mark.parametrize(
    ("email", "told"),
    [
        ("MEMBER@example.com", "this person is already a member"),
        ("owner@example.com", "this person is already a member"),
        ("Invited@example.com", "this person is already invited"),
    ],
)
def test_a_person_cannot_be_invited_twice(email: str, told: str) -> None:
    account = AccountFactory(owner=UserFactory(email="owner@example.com"))
    MembershipFactory(account=account, user=UserFactory(email="member@example.com"))
    Invitation.objects.create(account=account, email="invited@example.com")
    manager = signed_in(staff(account.owner, ACCOUNT_ADMINS))
    again = {
        "invitations-TOTAL_FORMS": "2",
        "invitations-1-email": email,
        "invitations-1-role": "MEMBER",
    }
    page = submit(manager, page_of(account), **again)
    assert told in page.content.decode()
    assert not Mail.objects.exists()


@pytest.mark.parametrize(("room", "new", "kept"), [(1, 1, 1), (1, 2, 0)])
def test_invitations_count_toward_the_email_limit_of_an_account(
    manager: Client, account: Account, room: int, new: int, kept: int
) -> None:
    Mail.objects.bulk_create(
        Mail(account=account, to="x@example.com", subject="s", body="b")
        for _ in range(MAILS_PER_HOUR - room)
    )
    rows = [{"email": f"{number}@example.com", "role": "MEMBER"} for number in range(new)]
    page = invite(manager, account, *rows)
    assert ("at most 100 emails an hour" in page.content.decode()) is (kept < new)
    assert Invitation.objects.count() == kept
    assert Mail.objects.exclude(to="x@example.com").count() == kept
