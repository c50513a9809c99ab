import uuid

import pytest

from accounts.models import Account
from chatbots.models import Appearance, Chatbot, GeneralSettings, LeadSettings, Localization
from tests.conftest import Api
from tests.factories.accounts import AccountFactory, PlanFactory
from tests.factories.chatbots import ChatbotFactory
from tests.fields import stored

pytestmark = pytest.mark.proves("Chatbots", "Chatbot")


@pytest.fixture
def there(account: Account) -> str:
    return f"/v1/chatbots/account/{account.pk}"


@pytest.fixture
def one(there: str, chatbot: Chatbot) -> str:
    return f"{there}/chatbot/{chatbot.pk}"


@pytest.mark.proves("Chatbots/create", "Chatbot/record")
def test_a_chatbot_is_created_with_its_settings(api: Api, account: Account, there: str) -> None:
    answer = api.post(f"{there}/create-chatbot", {"name": " Anna ✓", "description": "helps"})
    assert (answer.status_code, answer.json()["message"]) == (200, "chatbot created")
    record = answer.json()["data"]
    assert record == {
        "chatbotId": record["chatbotId"],
        "accountId": str(account.pk),
        "name": " Anna ✓",
        "description": "helps",
        "isActive": True,
    }
    made = Chatbot.objects.get(pk=record["chatbotId"])
    assert made.created_by_user == account.owner
    for kind in (Appearance, GeneralSettings, Localization):
        assert kind.objects.filter(chatbot=made).count() == 1
    assert Localization.objects.get(chatbot=made).locale_code == "en"
    assert not LeadSettings.objects.filter(chatbot=made).exists()
    changed = api.patch(f"{there}/chatbot/{made.pk}", {"isActive": False}).json()["data"]
    assert (changed["createdByUserId"], changed["isActive"]) == (str(account.owner_id), False)


@pytest.mark.proves("Bodies/validation")
def test_an_invalid_chatbot_is_rejected_and_its_fields_are_named(api: Api, there: str) -> None:
    bodies: list[tuple[dict[str, object], dict[str, str]]] = [
        ({}, {"name": "Required", "description": "Required"}),
        (
            {"name": ["a"], "description": " \n"},
            {"name": "Expected string", "description": "Required"},
        ),
        (
            {"name": "x" * 256, "description": "x" * 51},
            {
                "name": "Must have at most 255 characters",
                "description": "Must have at most 50 characters",
            },
        ),
    ]
    for body, errors in bodies:
        answer = api.post(f"{there}/create-chatbot", body)
        assert answer.status_code == 400
        assert answer.json() == {
            "success": False,
            "message": "request body is not valid",
            "code": "REQUEST_VALIDATION_FAILED",
            "errors": [{"path": [name], "message": text} for name, text in errors.items()],
        }


@pytest.mark.proves("Chatbot/name")
def test_a_name_is_unique_within_its_account_and_case_sensitive(
    api: Api, account: Account, there: str, one: str, chatbot: Chatbot
) -> None:
    body = {"name": chatbot.name, "description": "b"}
    other = ChatbotFactory(account=account)
    before = stored(other)
    for answer in (
        api.post(f"{there}/create-chatbot", body),
        api.patch(f"{there}/chatbot/{other.pk}", body),
    ):
        named = [error["path"] for error in answer.json()["errors"]]
        assert (answer.status_code, named) == (400, [["name"]])
    assert stored(other) == before
    elsewhere = f"/v1/chatbots/account/{AccountFactory(owner=account.owner).pk}"
    assert api.post(f"{elsewhere}/create-chatbot", body).status_code == 200
    upper = body | {"name": chatbot.name.upper()}
    assert api.post(f"{there}/create-chatbot", upper).status_code == 200
    assert api.patch(one, {"name": chatbot.name}).status_code == 200


@pytest.mark.proves("Codes/CHATBOT_LIMIT_REACHED")
def test_the_plan_limits_the_number_of_chatbots(
    api: Api, account: Account, there: str, chatbot: Chatbot
) -> None:
    account.plan = PlanFactory(name="Small", max_chatbots=2)
    account.save()
    ChatbotFactory()  # a chatbot of another account
    answers = [
        api.post(f"{there}/create-chatbot", {"name": name, "description": "b"})
        for name in ("second", "third")
    ]
    assert [answer.status_code for answer in answers] == [200, 403]
    assert answers[1].json() == {
        "success": False,
        "message": "chatbot quota exceeded",
        "code": "CHATBOT_LIMIT_REACHED",
    }
    assert Chatbot.objects.filter(account=account).count() == 2


def test_a_chatbot_of_another_account_is_a_404_even_for_its_owner(
    api: Api, there: str, account: Account
) -> None:
    elsewhere = ChatbotFactory(account=AccountFactory(owner=account.owner))
    for key in (elsewhere.pk, uuid.uuid4()):
        answer = api.patch(f"{there}/chatbot/{key}", {"name": "taken over"})
        assert (answer.status_code, answer.json()["code"]) == (404, "CHATBOT_NOT_FOUND")
    assert not Chatbot.objects.filter(name="taken over").exists()
