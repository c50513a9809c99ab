"""Lists of an account's chatbots, and of the chatbots a caller may use (grouped or paginated)."""

from typing import Any

import pytest

from accounts.models import Account
from accounts.permissions import CHATBOT_VIEW, Role
from chatbots.models import Chatbot
from tests.chatbots.conftest import member
from tests.chatbots.shapes import CHATBOT, MY_CHATBOT, check
from tests.conftest import Api, caller
from tests.factories.accounts import AccountFactory, MembershipFactory
from tests.factories.chatbots import ChatbotFactory, ChatbotMemberFactory

pytestmark = pytest.mark.proves("Chatbots", "Chatbot")
MY = "/v1/chatbots/my-chatbots"


@pytest.fixture
def there(account: Account) -> str:
    return f"/v1/chatbots/account/{account.pk}"


# all-chatbots


@pytest.mark.proves("Chatbots/all-chatbots", "Chatbot/record")
@pytest.mark.parametrize(
    ("fields", "role"),
    [
        (None, "OWNER"),
        ({"role": Role.SUPER_ADMIN}, "SUPER_ADMIN"),
        ({"permissions": [CHATBOT_VIEW]}, "MEMBER"),
    ],
)
def test_every_chatbot_of_the_account_is_listed_newest_first(
    api: Api, account: Account, there: str, chatbot: Chatbot, fields: Any, role: str
) -> None:
    newer = ChatbotFactory(account=account, is_active=False)
    ChatbotFactory()
    answer = (api if fields is None else member(account, **fields)).get(f"{there}/all-chatbots")
    assert (answer.status_code, answer.json()["message"]) == (200, "success")
    data = answer.json()["data"]
    assert sorted(data) == ["chatbots", "count", "userRole"]
    for record in data["chatbots"]:
        check(record, CHATBOT)
    assert [record["chatbotId"] for record in data["chatbots"]] == [
        str(newer.pk),
        str(chatbot.pk),
    ]
    assert (data["count"], data["userRole"]) == (2, role)


@pytest.mark.proves("Chatbots/all-chatbots", "Authentication/5")
def test_the_account_list_needs_its_permission(account: Account, chatbot: Chatbot) -> None:
    membership = MembershipFactory(account=account)
    ChatbotMemberFactory(chatbot=chatbot, user=membership.user)
    answer = caller(membership.user).get(f"/v1/chatbots/account/{account.pk}/all-chatbots")
    assert answer.status_code == 403


# my-chatbots


@pytest.mark.proves("Chatbots/my-chatbots", "Chatbot/record")
def test_an_owner_sees_every_chatbot_with_the_owners_role_on_each(
    api: Api, account: Account, chatbot: Chatbot
) -> None:
    joined = ChatbotFactory(account=account)
    ChatbotMemberFactory(chatbot=joined, user=account.owner, role="Reviewer")
    empty = AccountFactory(owner=account.owner)
    ChatbotFactory()
    answer = api.get(MY)
    assert (answer.status_code, answer.json()["message"]) == (200, "success")
    data = answer.json()["data"]
    assert sorted(data) == ["accounts", "totalCount"]
    assert data["totalCount"] == 2
    assert {each["accountId"] for each in data["accounts"]} == {str(account.pk), str(empty.pk)}
    for each in data["accounts"]:
        assert sorted(each) == ["accountId", "accountName", "chatbots", "userRole"]
        assert each["userRole"] == "OWNER"
    own = next(each for each in data["accounts"] if each["accountId"] == str(account.pk))
    assert own["accountName"] == account.name
    for record in own["chatbots"]:
        check(record, MY_CHATBOT)
        assert record["accountId"] == str(account.pk)
    assert {record["chatbotId"]: record["userChatbotRole"] for record in own["chatbots"]} == {
        str(chatbot.pk): None,
        str(joined.pk): "Reviewer",
    }


@pytest.mark.proves("Chatbots/my-chatbots")
@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({"role": Role.SUPER_ADMIN}, {"first", "second"}),
        ({"role": Role.MEMBER}, {"second"}),
        ({"role": Role.MEMBER, "permissions": [CHATBOT_VIEW]}, {"second"}),
    ],
)
def test_a_super_admin_sees_every_chatbot_and_a_member_only_added_ones(
    account: Account, chatbot: Chatbot, fields: dict[str, Any], seen: set[str]
) -> None:
    Chatbot.objects.filter(pk=chatbot.pk).update(name="first")
    second = ChatbotFactory(account=account, name="second")
    membership = MembershipFactory(account=account, **fields)
    ChatbotMemberFactory(chatbot=second, user=membership.user)
    data = caller(membership.user).get(MY).json()["data"]
    [only] = data["accounts"]
    assert (only["accountId"], only["userRole"]) == (str(account.pk), fields["role"])
    assert {record["name"] for record in only["chatbots"]} == seen
    assert data["totalCount"] == len(seen)


# GET /v1/chatbots


@pytest.mark.proves(
    "Endpoints named without shape/list-chatbots", "Pagination (list endpoints)/figures"
)
@pytest.mark.proves("Endpoints named without shape", "Pagination (list endpoints)")
def test_the_callers_chatbots_are_paginated_newest_first(
    api: Api, account: Account, chatbot: Chatbot
) -> None:
    bots = [chatbot, *ChatbotFactory.create_batch(4, account=account)]
    membership = MembershipFactory(user=account.owner)
    added = ChatbotFactory(account=membership.account)
    ChatbotMemberFactory(chatbot=added, user=account.owner)
    ChatbotFactory(account=membership.account)
    newest_first = [str(bot.pk) for bot in (added, *reversed(bots))]
    seen = []
    for page in (1, 2, 3, 4):
        data = api.get(f"/v1/chatbots?page={page}&limit=2").json()["data"]
        assert sorted(data) == ["chatbots", "pagination"]
        assert data["pagination"] == {"page": page, "limit": 2, "total": 6, "pages": 3}
        for record in data["chatbots"]:
            check(record, CHATBOT)
        seen += [record["chatbotId"] for record in data["chatbots"]]
    assert seen == newest_first


@pytest.mark.proves("Pagination (list endpoints)/query")
@pytest.mark.proves("Pagination (list endpoints)")
def test_a_page_has_twenty_rows_by_default(api: Api, account: Account, chatbot: Chatbot) -> None:
    ChatbotFactory.create_batch(20, account=account)
    data = api.get("/v1/chatbots").json()["data"]
    assert len(data["chatbots"]) == 20
    assert data["pagination"] == {"page": 1, "limit": 20, "total": 21, "pages": 2}


@pytest.mark.proves("Pagination (list endpoints)/query")
@pytest.mark.proves("Pagination (list endpoints)")
@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("limit=0", ["limit"]),
        ("limit=101", ["limit"]),
        ("limit=x", ["limit"]),
        ("limit=", ["limit"]),
        ("limit=1.0", ["limit"]),
        ("page=0", ["page"]),
        ("page=-1", ["page"]),
        ("page=x", ["page"]),
    ],
)
def test_an_invalid_page_is_rejected(api: Api, query: str, path: list[str]) -> None:
    answer = api.get(f"/v1/chatbots?{query}")
    assert (answer.status_code, [e["path"] for e in answer.json()["errors"]]) == (400, [path])


@pytest.mark.parametrize("zeros", [1, 19, 5_000])
def test_leading_zeros_do_not_change_a_number(api: Api, zeros: int) -> None:
    page = api.get(f"/v1/chatbots?limit={'0' * zeros}12").json()["data"]["pagination"]
    assert page["limit"] == 12


@pytest.mark.parametrize("number", ["0" * 5_000, "9" * 5_000])
def test_a_number_of_any_length_is_compared_with_the_bounds(api: Api, number: str) -> None:
    [fault] = api.get(f"/v1/chatbots?limit={number}").json()["errors"]
    bound = "least 1" if number.startswith("0") else "most 100"
    assert fault == {"path": ["limit"], "message": f"Must be at {bound}"}
