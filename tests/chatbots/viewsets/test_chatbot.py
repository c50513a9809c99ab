import uuid
from typing import Any

import pytest

from accounts.models import Account
from accounts.permissions import CHATBOT_VIEW, Role
from chatbots.models import Appearance, Chatbot, GeneralSettings, LeadSettings, Localization
from tests.chatbots.conftest import member, stored
from tests.chatbots.shapes import CHATBOT, NEW_CHATBOT, check
from tests.conftest import Api, caller
from tests.factories.accounts import AccountFactory, MembershipFactory, PlanFactory
from tests.factories.chatbots import ChatbotFactory, ChatbotMemberFactory
from tests.fields import FLAG, check_fields, name, text

pytestmark = pytest.mark.proves("Chatbots", "Chatbot")


@pytest.fixture
def there(account: Account) -> str:
    return f"/v1/chatbots/account/{account.pk}"


@pytest.fixture
def one(there: str, chatbot: Chatbot) -> str:
    return f"{there}/chatbot/{chatbot.pk}"


# create-chatbot


@pytest.mark.proves("Chatbots/create", "Chatbot/record")
def test_a_chatbot_is_created_with_its_settings(api: Api, account: Account, there: str) -> None:
    answer = api.post(f"{there}/create-chatbot", {"name": " Anna ✓", "description": "helps"})
    assert (answer.status_code, answer.json()["message"]) == (200, "chatbot created")
    record = answer.json()["data"]
    check(record, NEW_CHATBOT)
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


@pytest.mark.proves("Bodies/validation")
@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"name": "Required", "description": "Required"}),
        ({"name": "a"}, {"description": "Required"}),
        ({"description": "a"}, {"name": "Required"}),
        ({"name": "", "description": "a"}, {"name": "Required"}),
        ({"name": " \n\t", "description": "a"}, {"name": "Required"}),
        ({"name": "a", "description": " "}, {"description": "Required"}),
        ({"name": 5, "description": "a"}, {"name": "Expected string"}),
        ({"name": None, "description": "a"}, {"name": "Expected string"}),
        (
            {"name": ["a"], "description": True},
            {"name": "Expected string", "description": "Expected string"},
        ),
        ({"name": "x" * 256, "description": "a"}, {"name": "Must have at most 255 characters"}),
        (
            {"name": "a", "description": "x" * 51},
            {"description": "Must have at most 50 characters"},
        ),
    ],
)
def test_an_invalid_chatbot_is_rejected_and_its_fields_are_named(
    api: Api, there: str, body: Any, errors: dict[str, str]
) -> None:
    answer = api.post(f"{there}/create-chatbot", body)
    assert answer.status_code == 400
    assert answer.json() == {
        "success": False,
        "message": "request body is not valid",
        "code": "REQUEST_VALIDATION_FAILED",
        "errors": [{"path": [name], "message": text} for name, text in errors.items()],
    }
    assert Chatbot.objects.count() == 1


@pytest.mark.proves("Chatbot/name")
def test_a_name_is_unique_within_its_account_and_case_sensitive(
    api: Api, there: str, chatbot: Chatbot
) -> None:
    body = {"name": chatbot.name, "description": "b"}
    answer = api.post(f"{there}/create-chatbot", body)
    assert (answer.status_code, [e["path"] for e in answer.json()["errors"]]) == (400, [["name"]])
    other = f"/v1/chatbots/account/{AccountFactory(owner=chatbot.account.owner).pk}"
    assert api.post(f"{other}/create-chatbot", body).status_code == 200
    upper = body | {"name": chatbot.name.upper()}
    assert api.post(f"{there}/create-chatbot", upper).status_code == 200


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


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"role": Role.SUPER_ADMIN}, 200),
        ({"role": Role.MEMBER}, 403),
        ({"role": Role.MEMBER, "permissions": [CHATBOT_VIEW]}, 403),
    ],
)
def test_only_owners_and_super_admins_can_create(
    account: Account, there: str, fields: dict[str, Any], status: int
) -> None:
    answer = member(account, **fields).post(
        f"{there}/create-chatbot", {"name": "a", "description": "b"}
    )
    assert answer.status_code == status


# Paths that contain an account


@pytest.mark.parametrize(
    ("method", "rest", "body"),
    [
        ("POST", "create-chatbot", b"["),
        ("GET", "all-chatbots", None),
        ("PATCH", "chatbot/{chatbot}", b"["),
    ],
)
def test_the_account_is_checked_before_the_body(
    api: Api, stranger: Api, chatbot: Chatbot, method: str, rest: str, body: Any
) -> None:
    for account_id in (uuid.uuid4(), "nonsense"):
        path = f"/v1/chatbots/account/{account_id}/{rest.format(chatbot=chatbot.pk)}"
        answer = api.call(method, path, body)
        assert answer.status_code == 404
        assert answer.json() == {"success": False, "message": "account not found"}
    path = f"/v1/chatbots/account/{chatbot.account_id}/{rest.format(chatbot=chatbot.pk)}"
    answer = stranger.call(method, path, body)
    assert (answer.status_code, answer.json()) == (
        403,
        {"success": False, "message": "insufficient permissions"},
    )
    assert Api(None).call(method, path, body).status_code == 401


# chatbot/{chatbotId}


@pytest.mark.proves("Chatbots/update", "States and transitions/Chatbot.isActive")
def test_only_provided_fields_are_changed(api: Api, one: str, chatbot: Chatbot) -> None:
    before = stored(chatbot)
    answer = api.patch(one, {"description": "new"})
    assert (answer.status_code, answer.json()["message"]) == (200, "success")
    check(answer.json()["data"], CHATBOT)
    after = stored(chatbot)
    changed = {name for name in after if after[name] != before[name]}
    assert (after["description"], changed) == ("new", {"description", "updated_at"})


def test_the_record_shows_what_is_stored(api: Api, one: str, chatbot: Chatbot) -> None:
    Chatbot.objects.filter(pk=chatbot.pk).update(created_by_user=chatbot.account.owner)
    record = api.patch(one, {"name": "N", "isActive": False}).json()["data"]
    row = stored(chatbot)
    assert record["chatbotId"] == str(row["id"])
    assert record["createdByUserId"] == str(chatbot.account.owner_id)
    assert (record["name"], record["isActive"]) == (row["name"], row["is_active"]) == ("N", False)
    assert record["createdAt"].endswith("Z")


def test_a_taken_name_is_rejected_but_the_chatbots_own_name_is_accepted(
    api: Api, account: Account, one: str, chatbot: Chatbot
) -> None:
    ChatbotFactory(account=account, name="taken")
    answer = api.patch(one, {"name": "taken", "description": "other"})
    assert (answer.status_code, [e["path"] for e in answer.json()["errors"]]) == (400, [["name"]])
    assert stored(chatbot)["description"] == chatbot.description
    assert api.patch(one, {"name": chatbot.name}).status_code == 200


def test_a_chatbot_of_another_account_is_a_404_even_for_its_owner(
    api: Api, there: str, account: Account
) -> None:
    elsewhere = ChatbotFactory(account=AccountFactory(owner=account.owner))
    foreign = ChatbotFactory()
    for key in (elsewhere.pk, foreign.pk, uuid.uuid4(), "nonsense"):
        answer = api.patch(f"{there}/chatbot/{key}", {"name": "taken over"})
        assert (answer.status_code, answer.json()["code"]) == (404, "CHATBOT_NOT_FOUND")
    assert not Chatbot.objects.filter(name="taken over").exists()


def test_a_foreign_account_is_a_403_even_with_a_chatbot_of_the_callers_own(
    chatbot: Chatbot, there: str
) -> None:
    own = ChatbotFactory()
    answer = caller(own.account.owner).patch(f"{there}/chatbot/{own.pk}", {"name": "x"})
    assert answer.status_code == 403


def test_a_member_can_change_the_chatbots_that_the_member_was_added_to(
    account: Account, there: str, one: str, chatbot: Chatbot
) -> None:
    membership = MembershipFactory(account=account, permissions=[CHATBOT_VIEW])
    api = caller(membership.user)
    answer = api.patch(one, {"description": "x"})
    assert (answer.status_code, answer.json()["code"]) == (403, "CHATBOT_FETCH_FORBIDDEN")
    ChatbotMemberFactory(chatbot=chatbot, user=membership.user)
    assert api.patch(one, {"description": "x"}).status_code == 200
    assert api.patch(f"{there}/chatbot/{uuid.uuid4()}", {}).status_code == 404


@pytest.mark.proves("Chatbot/description")
def test_every_field_is_checked_and_stored(
    api: Api, account: Account, there: str, one: str, chatbot: Chatbot
) -> None:
    new = {"name": name(255), "description": name(50)}
    count = Chatbot.objects.filter(account=account).count
    check_fields(api.post, f"{there}/create-chatbot", new, count)
    Chatbot.objects.exclude(pk=chatbot.pk).delete()  # because names are unique
    changed = {"name": name(255), "description": text(100), "isActive": FLAG}
    check_fields(api.patch, one, changed, lambda: stored(chatbot))
