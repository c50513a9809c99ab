"""The `create_account NAME --owner EMAIL --plan PLAN` command."""

import pytest

from accounts.models import Account, User
from tests.commands import check_rejection, record

pytestmark = pytest.mark.django_db
VALID = ("--owner", "a@example.com", "--plan", "Scale")
LONG = f"a@{'.'.join(['b' * 63] * 4)}.com"
WORDS = ("create_account", "Acme", "--plan", "scale", "--owner")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "required: NAME"),
        (["A"], "required: --owner, --plan"),
        ([*VALID, "A", "--owner", "nonsense"], "'nonsense' is not an email address"),
        ([*VALID, "A", "--owner", LONG], "an email address must have at most 255 characters"),
        ([*VALID, " "], "an account's name must not be blank"),
        ([*VALID, "x" * 256], "an account's name must have at most 255 characters"),
        ([*VALID, "A", "--plan", "Gold"], "no plan Gold; known plans: Starter, Growth, Scale"),
    ],
)
def test_invalid_input_is_reported_and_creates_nothing(words: list[str], message: str) -> None:
    people = User.objects.count()
    check_rejection("create_account", *words, message=message)
    assert (User.objects.count(), Account.objects.count()) == (people, 0)


def test_it_creates_an_account_with_its_owner() -> None:
    made = record(*WORDS, "new@example.com")
    account = Account.objects.get()
    assert made == {
        "accountId": str(account.pk),
        "accountName": "Acme",
        "plan": "Scale",
        "ownerId": str(account.owner_id),
        "ownerEmail": "new@example.com",
    }
    assert account.webhooks_enabled
    assert not account.owner.has_usable_password()
