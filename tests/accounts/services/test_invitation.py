"""Only the person with the invited email address can accept an invitation."""

import pytest

from accounts.models import Invitation, Membership, User
from accounts.services.invitation import accept
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
