"""Only the person with the invited email address can accept an invitation, and only once."""

import pytest

from accounts.models import Invitation, Membership, User
from accounts.services.invitation import accept, invite_again
from tests.factories.accounts import AccountFactory, UserFactory

pytestmark = pytest.mark.django_db


def test_an_address_that_matches_only_after_the_database_lowercases_it_is_not_accepted() -> None:
    """PostgreSQL's LOWER can turn a dotted capital I into an i, so the two addresses may match.

    If LOWER does not do this, as on SQLite, the test checks nothing.
    """
    UserFactory(email="ann@city.example")
    invitation = Invitation.objects.create(
        account=AccountFactory(), email="ann@c\u0130ty.example", role="MEMBER"
    )
    if found := User.objects.find(invitation.email):
        assert not accept(invitation, found)
        assert not Membership.objects.exists()


def test_an_accepted_invitation_cannot_be_sent_again() -> None:
    """A manager may press "Send again" at the moment in which the person accepts."""
    person = UserFactory()
    invitation = Invitation.objects.create(account=AccountFactory(), email=person.email)
    seen = Invitation.objects.get()
    assert accept(invitation, person)
    assert not invite_again(seen)
    assert not Invitation.objects.exists()
