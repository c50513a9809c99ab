"""Invitations in the admin: a manager invites a person, sends the email again, or withdraws."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account, Change, Invitation, Mail
from accounts.notifications import MAILS_PER_HOUR
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.row import in_trail
from tests.factories.staff import signed_in
from tests.pages import submit

pytestmark = pytest.mark.django_db
ADD = reverse("admin:accounts_invitation_add")
LIST = reverse("admin:accounts_invitation_changelist")


@pytest.fixture
def account() -> Account:
    return AccountFactory(name="Acme", owner__email="owner@example.com")


@pytest.fixture(params=["OWNER", "SUPER_ADMIN"])
def manager(account: Account, request: pytest.FixtureRequest) -> Client:
    other = MembershipFactory(account=account, role="SUPER_ADMIN").user
    return signed_in(account.owner if request.param == "OWNER" else other)


def at(invitation: Invitation, page: str = "change") -> str:
    return reverse(f"admin:accounts_invitation_{page}", args=[invitation.pk])


def test_a_manager_invites_a_person_and_reads_to_whom_it_was_sent(
    manager: Client, account: Account
) -> None:
    page = submit(manager, ADD, email="ann@example.com", role="SUPER_ADMIN")
    page = manager.get(page["Location"])
    assert "The invitation was sent to ann@example.com." in page.text
    [invitation] = Invitation.objects.all()
    assert (invitation.account, invitation.role) == (account, "SUPER_ADMIN")
    assert "as SUPER_ADMIN" in Mail.objects.get(to="ann@example.com").body
    assert "ann@example.com" in manager.get(LIST).text


def test_a_manager_invites_one_person_after_another(manager: Client, account: Account) -> None:
    page = submit(manager, ADD, email="ann@example.com", _addanother="on")
    assert page["Location"] == ADD
    page = submit(manager, ADD, email="bob@example.com")
    assert page["Location"] == at(Invitation.objects.get(email="bob@example.com"))


def test_roles_are_chosen_and_people_lead_to_the_form(manager: Client) -> None:
    page = manager.get(ADD).text
    assert '<select name="role"' in page
    assert 'type="checkbox" name="permissions"' in page
    assert f'href="{ADD}"' in manager.get(reverse("admin:accounts_user_changelist")).text


def test_the_emailed_link_is_never_shown_and_differs_from_the_link_to_copy(
    manager: Client, account: Account
) -> None:
    with in_trail():
        invitation = Invitation.objects.create(account=account, email="ann@example.com")
    submit(manager, at(invitation, "resend").replace("resend/", "change/"))
    manager.post(at(invitation, "resend"))
    mail = Mail.objects.get(to="ann@example.com")
    mailed, copied = (invitation.link(one) for one in (invitation.mailed, invitation.copied))
    assert mail.text.endswith(f"{mailed}\n")
    page = manager.get(at(invitation)).text
    assert copied in page
    token = mailed.partition("token=")[2]
    shown = manager.get(reverse("admin:accounts_mail_change", args=[mail.pk])).text
    assert token not in mail.body + page + shown
    assert "token" not in str([*Change.objects.values("changes", "object_repr")])


@pytest.mark.parametrize(
    ("state", "days", "shown"),
    [
        ("PENDING", 0, "being sent"),
        ("RETRYING", 0, "being sent"),
        ("SENT", 0, "sent"),
        ("FAILED", 0, "not sent"),
        ("SENT", 7, "expired"),
    ],
)
def test_the_list_shows_the_state(
    manager: Client, account: Account, state: str, days: int, shown: str
) -> None:
    invitation = Invitation.objects.create(account=account, email="ann@example.com")
    Mail.objects.create(
        account=account, to="x@example.com", subject="s", invitation=invitation, state=state
    )
    sent = timezone.now() - timedelta(days=days)
    Invitation.objects.update(updated_at=sent)
    [row] = manager.get(LIST).context["cl"].result_list
    model_admin = manager.get(LIST).context["cl"].model_admin
    assert model_admin.state(row) == shown
    link_shown = "Give it only to" in manager.get(at(invitation)).text
    assert link_shown is (shown != "expired")
    manager.post(at(invitation, "resend"))
    invitation.refresh_from_db()
    assert invitation.expires_at > timezone.now() + timedelta(days=6)


def test_a_withdrawn_invitation_is_gone(manager: Client, account: Account) -> None:
    invitation = Invitation.objects.create(account=account, email="ann@example.com")
    page = manager.post(at(invitation, "withdraw"), follow=True)
    assert "The invitation to ann@example.com was withdrawn." in page.text
    assert not Invitation.objects.exists()
    assert Invitation.find(invitation.copied.sign(invitation.pk.hex)) is None


def test_members_and_other_managers_have_no_access(account: Account) -> None:
    invitation = Invitation.objects.create(account=account, email="ann@example.com")
    member = signed_in(MembershipFactory(account=account).user)
    stranger = signed_in(AccountFactory().owner)
    assert member.get(LIST).status_code == member.get(ADD).status_code == 403
    for client in (member, stranger):
        for page in ("change", "resend", "withdraw"):
            assert client.post(at(invitation, page)).status_code in (302, 403), page
    given = {"account": str(account.pk), "email": "eve@example.com", "role": "SUPER_ADMIN"}
    assert "Select a valid choice" in stranger.post(ADD, given).text
    assert Invitation.objects.get() == invitation
    assert not Mail.objects.exists()


@pytest.mark.parametrize(
    ("email", "told"),
    [
        ("MEMBER@example.com", "this person is already a member"),
        ("owner@example.com", "this person is already a member"),
        ("Invited@example.com", "this person is already invited"),
    ],
)
def test_a_person_cannot_be_invited_twice(account: Account, email: str, told: str) -> None:
    MembershipFactory(account=account, user=UserFactory(email="member@example.com"))
    Invitation.objects.create(account=account, email="invited@example.com")
    assert told in submit(signed_in(account.owner), ADD, email=email).text
    assert not Mail.objects.exists()


@pytest.mark.parametrize("room", [0, 1])
def test_invitations_count_toward_the_email_limit_of_an_account(
    account: Account, room: int
) -> None:
    manager = signed_in(account.owner)
    Mail.objects.bulk_create(
        Mail(account=account, to="x@example.com", subject="s", body="b")
        for _ in range(MAILS_PER_HOUR - room)
    )
    page = submit(manager, ADD, email="ann@example.com")
    assert ("at most 100 emails an hour" in page.text) is (room == 0)
    assert Invitation.objects.count() == room
    for invitation in Invitation.objects.all():
        page = manager.post(at(invitation, "resend"), follow=True)
        assert "at most 100 emails an hour" in page.text
    assert Mail.objects.count() == MAILS_PER_HOUR
