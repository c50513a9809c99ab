"""Pages without a sign-in: accept an invitation, and set a new password by email."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account, Change, Invitation, Mail, Membership, User
from accounts.services import api_key
from accounts.services.account import create_account
from accounts.services.user import confirm_email
from tests import counters
from tests.factories.accounts import AccountFactory, MembershipFactory, UserFactory
from tests.factories.row import in_trail
from tests.factories.staff import signed_in

pytestmark = pytest.mark.django_db
ANN, PASSWORD, NEW = "ann@example.com", "correct horse battery", "another staple 7"
CHOSEN = {"name": "Ann", "new_password1": PASSWORD, "new_password2": PASSWORD}
INBOX = "/admin/conversations/thread/"
RESET = reverse("password_reset")
SAME = "If somebody uses this service with that address"


@pytest.fixture(autouse=True)
def no_limits_reached() -> None:
    counters.forget()


@pytest.fixture
def account() -> Account:
    return AccountFactory(name="Acme")


@pytest.fixture
def invitation(account: Account) -> Invitation:
    return Invitation.objects.create(
        account=account, email=ANN, role="SUPER_ADMIN", permissions=["CHATBOT_VIEW"]
    )


def with_password(user: User) -> User:
    user.set_password(PASSWORD)
    user.save()
    return user


def opened(client: Client, invitation: Invitation, *, copied: bool = False) -> str:
    """Open an invitation's link. Returns the address of its page, which has no token."""
    link = invitation.link(invitation.copied if copied else invitation.mailed)
    answer = client.get(link)
    assert (answer.status_code, "no-store" in answer["Cache-Control"]) == (302, True)
    assert "token" not in answer["Location"]
    return str(answer["Location"])


def user_of(client: Client) -> str | None:
    return client.session.get("_auth_user_id")


@pytest.mark.parametrize("copied", [False, True])
def test_a_new_person_chooses_a_password_and_lands_in_the_inbox(
    invitation: Invitation, copied: bool
) -> None:
    client = Client()
    page = opened(client, invitation, copied=copied)
    session = client.session.session_key
    assert "Acme" in client.get(page).text
    assert not User.objects.filter(email=ANN).exists()  # mail scanners open links, too
    answer = client.post(page, CHOSEN)
    assert (answer.status_code, answer["Location"]) == (302, INBOX)
    user = User.objects.get(email=ANN)
    assert (user_of(client), client.session.session_key != session) == (str(user.pk), True)
    assert (user.name, user.check_password(PASSWORD)) == ("Ann", True)
    assert user.email_confirmed is not copied
    [member] = Membership.objects.all()
    assert (member.user, member.role, member.permissions) == (user, "SUPER_ADMIN", ["CHATBOT_VIEW"])
    inbox = client.get(INBOX)
    assert (inbox.status_code, "You are now a member of Acme." in inbox.text) == (200, True)


@pytest.mark.parametrize("given", [{"new_password2": "other"}, {"name": ""}, {"new_password1": ""}])
def test_a_bad_name_or_password_changes_nothing(
    invitation: Invitation, given: dict[str, str]
) -> None:
    client = Client()
    answer = client.post(opened(client, invitation), CHOSEN | given)
    assert answer.status_code == 200
    assert answer.context["form"].errors
    assert not Membership.objects.exists()
    assert user_of(client) is None


@pytest.mark.parametrize("password", [PASSWORD, "wrong", ""])
def test_a_known_person_signs_in_and_never_sets_a_password(
    invitation: Invitation, password: str
) -> None:
    known = with_password(UserFactory(email="ANN@example.com", name="Known"))
    MembershipFactory(user=known)  # in another account
    client = Client()
    page = opened(client, invitation)
    assert "new_password1" not in client.get(page).text
    answer = client.post(page, CHOSEN | {"password": password})
    right = password == PASSWORD
    assert answer.status_code == (302 if right else 200)
    assert ("Wrong email or password." in answer.text) is (password == "wrong")
    assert user_of(client) == (str(known.pk) if right else None)
    assert known.memberships.count() == (2 if right else 1)
    known.refresh_from_db()
    assert (known.name, known.check_password(PASSWORD)) == ("Known", True)


def test_wrong_passwords_count_toward_the_limit_of_signing_in(invitation: Invitation) -> None:
    with_password(UserFactory(email=ANN))
    client = Client()
    page = opened(client, invitation)
    for _ in range(5):
        client.post(page, {"password": "wrong"})
    assert "Too many attempts." in client.post(page, {"password": PASSWORD}).text
    form = {"username": ANN, "password": PASSWORD}
    assert "Too many attempts." in Client().post(reverse("admin:login"), form).text


def test_a_signed_in_person_joins_with_one_click_in_two_accounts(invitation: Invitation) -> None:
    known = with_password(UserFactory(email=ANN))
    second = Invitation.objects.create(account=AccountFactory(name="Beta"), email=ANN)
    client = signed_in(known)
    pages = [opened(client, one) for one in (invitation, second)]  # in two tabs
    for page, name in zip(pages, ("Acme", "Beta"), strict=True):
        assert 'type="password"' not in client.get(page).text
        with in_trail():
            assert f"member of {name}." in client.post(page, follow=True).text
    assert known.memberships.count() == 2
    assert {change.actor for change in Change.objects.filter(via="admin")} == {known}


def test_somebody_else_in_the_browser_is_signed_out(invitation: Invitation) -> None:
    client = signed_in(MembershipFactory().user)
    page = opened(client, invitation)
    assert "You are logged in as" in client.get(page).text
    client.post(page, CHOSEN)
    assert user_of(client) == str(User.objects.get(email=ANN).pk)


def test_the_second_of_two_tabs_learns_that_the_invitation_was_accepted(
    invitation: Invitation,
) -> None:
    client = Client()
    page = opened(client, invitation)
    assert client.post(page, CHOSEN).status_code == 302
    answer = client.post(page, CHOSEN | {"new_password1": NEW, "new_password2": NEW})
    assert (answer.status_code, "has been accepted" in answer.text) == (404, True)
    assert client.get(invitation.link(invitation.mailed)).status_code == 404
    assert User.objects.get(email=ANN).check_password(PASSWORD)


@pytest.mark.parametrize("end", ["withdrawn", "expired", "forged", "another session"])
@pytest.mark.parametrize("opens", ["before", "after"])
def test_an_invalid_invitation_creates_no_member(
    invitation: Invitation, end: str, opens: str
) -> None:
    client, link = Client(), invitation.link(invitation.mailed)
    page = opened(client, invitation)
    match end:
        case "withdrawn":
            invitation.delete()
        case "expired":
            Invitation.objects.update(updated_at=timezone.now() - timedelta(days=7))
        case "forged":
            link, client = link[:-1] + ("A" if link[-1] != "A" else "B"), Client()
        case "another session":
            link, client = page, Client()
    answer = client.get(link) if opens == "after" else client.post(page, CHOSEN)
    assert (answer.status_code, "not valid" in answer.text) == (404, True)
    assert not Membership.objects.exists()
    assert not User.objects.filter(email=ANN).exists()


def test_a_deactivated_person_cannot_join(invitation: Invitation) -> None:
    with_password(UserFactory(email=ANN, is_active=False))
    client = Client()
    page = opened(client, invitation)
    assert "deactivated" in client.get(page).text
    client.post(page, CHOSEN | {"password": PASSWORD})
    assert not Membership.objects.exists()


def test_a_copied_link_proves_no_address(invitation: Invitation) -> None:
    """A manager could use a copied link to create a user with somebody else's address."""
    intruder = Client()
    intruder.post(opened(intruder, invitation, copied=True), CHOSEN)
    user = User.objects.get(email=ANN)
    key, _ = api_key.issue(user)
    other = AccountFactory(name="Beta")
    second = Invitation.objects.create(account=other, email=ANN)
    page = opened(intruder, second)
    assert "confirm that ann@example.com is your address" in intruder.get(page).text
    assert intruder.post(page).status_code == 200
    with pytest.raises(ValueError, match="not confirmed"):
        create_account(name="Gamma", owner_email=ANN, plan=other.plan)

    client = Client()
    client.post(RESET, {"email": ANN})
    set_password(client, link())
    key.refresh_from_db()
    assert key.revoked_at
    assert intruder.get("/admin/").status_code == 302
    client.post(opened(client, second), {"password": NEW})
    assert user.memberships.count() == 2


def link() -> str:
    """Return the path of the link in the newest email."""
    [path] = re.findall(r"https?://[^/]+(/password-reset/\S+)", Mail.objects.latest("pk").text)
    return str(path)


def set_password(client: Client, address: str, password: str = NEW) -> Any:
    """Open the link of an email, and choose a password."""
    page = client.get(address)
    if page.status_code != 302:
        return page
    assert address.rpartition("/")[2] not in page["Location"]  # not in the next Referer
    given = {"new_password1": password, "new_password2": password}
    return client.post(page["Location"], given, follow=True)


@pytest.mark.parametrize("password", [True, False])
def test_a_forgotten_password_is_set_with_an_emailed_link_that_works_once(password: bool) -> None:
    user = UserFactory(email=ANN)
    if password:
        with_password(user)
    session = signed_in(MembershipFactory(user=user).user)
    client = Client()
    assert f'href="{RESET}"' in client.get(reverse("admin:login")).text
    assert SAME in client.post(RESET, {"email": " Ann@Example.com "}, follow=True).text
    mail = Mail.objects.get()
    assert (mail.to, mail.account, "password-reset" in mail.body) == (ANN, None, False)
    address = link()
    assert "can now log in" in set_password(client, address).text
    user.refresh_from_db()
    assert user.check_password(NEW)
    assert session.get("/admin/").status_code == 302
    assert "This link is not valid" in set_password(Client(), address, PASSWORD).text
    form = {"username": ANN, "password": NEW}
    assert Client().post(reverse("admin:login"), form)["Location"] == "/admin/"


@pytest.mark.parametrize("who", ["nobody", "deactivated", "superuser without a password"])
def test_the_answer_does_not_tell_whether_an_address_exists(who: str) -> None:
    if who != "nobody":
        user = UserFactory(email=ANN, is_active=who != "deactivated", is_superuser=True)
        user.set_unusable_password()
        user.save()
    assert SAME in Client().post(RESET, {"email": ANN}, follow=True).text
    assert not Mail.objects.exists()


def test_a_person_who_is_deactivated_while_setting_a_password_stays_deactivated() -> None:
    user = UserFactory(email=ANN)
    User.objects.update(is_active=False)
    user.set_password(NEW)
    confirm_email(user)
    user.refresh_from_db()
    assert (user.is_active, user.check_password(NEW)) == (False, True)


def test_an_expired_link_sets_no_password(settings: Any) -> None:
    with_password(UserFactory(email=ANN))
    Client().post(RESET, {"email": ANN})
    address = link()
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "it has expired" in set_password(Client(), address).text


@pytest.mark.parametrize("known", [True, False])
def test_requests_are_limited_for_each_address_in_the_same_way(known: bool) -> None:
    if known:
        UserFactory(email=ANN)
    emails = [ANN, ANN.upper(), "Ann@example.com", ANN, ANN, ANN]
    answers = [
        Client(REMOTE_ADDR=f"192.0.2.{n}").post(RESET, {"email": email})
        for n, email in enumerate(emails)
    ]
    assert [answer.status_code for answer in answers] == [302] * 5 + [200]
    assert "Too many" in answers[-1].text
    assert Mail.objects.count() == (5 if known else 0)
