"""The `create_account NAME --owner EMAIL --plan PLAN` command."""

import pytest

from accounts.models import Account, User
from tests.commands import check_help, check_rejection, record

pytestmark = pytest.mark.django_db
WORDS = ("create_account", "Acme", "--plan", "scale", "--owner")


def test_it_has_help_text(capsys: pytest.CaptureFixture[str]) -> None:
    check_help("create_account", capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "required: NAME", id="no name"),
        pytest.param(["A"], "required: --owner, --plan", id="no owner and no plan"),
        pytest.param(
            ["A", "--owner", "nonsense", "--plan", "Scale"],
            "'nonsense' is not an email address",
            id="invalid email address",
        ),
        pytest.param(
            ["A", "--owner", f"a@{'.'.join(['b' * 63] * 4)}.com", "--plan", "Scale"],
            "an email address must have at most 255 characters",
            id="email address too long",
        ),
        pytest.param(
            [" ", "--owner", "a@example.com", "--plan", "Scale"],
            "an account's name must not be blank",
            id="blank name",
        ),
        pytest.param(
            ["x" * 256, "--owner", "a@example.com", "--plan", "Scale"],
            "an account's name must have at most 255 characters",
            id="name too long",
        ),
        pytest.param(
            ["A", "--owner", "a@example.com", "--plan", "Gold"],
            "no plan Gold; known plans: Starter, Growth, Scale",
            id="unknown plan",
        ),
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
