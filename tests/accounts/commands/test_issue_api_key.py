"""The `issue_api_key EMAIL [--label TEXT] [--expires DAYS]` command."""

import pytest

from accounts.models import ApiKey
from chatbots.models import Chatbot
from tests.commands import check_rejection, record, run
from tests.conftest import Api
from tests.factories.accounts import UserFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "required: EMAIL"),
        (["no@example.com"], "no person no@example.com"),
        *(
            (["a@example.com", "--expires", days], f"'{days}' is not a number from 1 to 100000")
            for days in ("0", "x", "1.5", "100001")
        ),
    ],
)
def test_invalid_input_is_reported_and_issues_nothing(words: list[str], message: str) -> None:
    check_rejection("issue_api_key", *words, message=message)
    assert not ApiKey.objects.exists()


def test_the_key_works_and_is_shown_only_once(chatbot: Chatbot) -> None:
    owner = chatbot.account.owner
    made = record("issue_api_key", owner.email.upper(), "--label", "shop", "--expires", "2")
    assert list(made) == ["email", "label", "prefix", "apiKey", "expiresAt"]
    assert Api(made["apiKey"]).get("/v1/chatbots").status_code == 200
    assert ApiKey.objects.get().label == "shop"
    assert made["expiresAt"] is not None


def test_the_output_for_people_is_plain_lines() -> None:
    user = UserFactory()
    output = run("issue_api_key", user.email)
    assert f"email: {user.email}\n" in output
    assert "apiKey: cbk_" in output
    assert "expiresAt: -\n" in output
