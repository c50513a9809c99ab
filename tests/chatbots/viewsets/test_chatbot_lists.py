"""Lists of an account's chatbots, and of the chatbots a caller may use (grouped or paginated)."""

from typing import Any

import pytest

from accounts.models import Account
from accounts.permissions import CHATBOT_VIEW, Role
from chatbots.models import Chatbot
from tests.chatbots.conftest import member
from tests.conftest import Api, caller
from tests.factories.accounts import AccountFactory, MembershipFactory
from tests.factories.chatbots import ChatbotFactory, ChatbotMemberFactory

pytestmark = pytest.mark.proves("Chatbots", "Chatbot")
MY = "/v1/chatbots/my-chatbots"


@pytest.mark.proves("Chatbots/all-chatbots", "Authentication/5")
@pytest.mark.parametrize(
    ("fields", "role"),
    [
        (None, "OWNER"),
        ({"role": Role.SUPER_ADMIN}, "SUPER_ADMIN"),
        ({"permissions": [CHATBOT_VIEW]}, "MEMBER"),
        ({}, None),
    ],
)
def test_every_chatbot_of_the_account_is_listed_newest_first_with_the_callers_role(
    api: Api, account: Account, chatbot: Chatbot, fields: Any, role: str | None
) -> None:
    newer = ChatbotFactory(account=account, is_active=False)
    ChatbotFactory()
    who = api if fields is None else member(account, **fields)
    answer = who.get(f"/v1/chatbots/account/{account.pk}/all-chatbots")
    assert answer.status_code == (200 if role else 403)
    if role:
        data = answer.json()["data"]
        listed = [record["chatbotId"] for record in data["chatbots"]]
        assert listed == [str(newer.pk), str(chatbot.pk)]
        assert (data["count"], data["userRole"]) == (2, role)


@pytest.mark.proves("Chatbots/my-chatbots")
def test_an_owner_sees_every_chatbot_with_the_owners_role_on_each(
    api: Api, account: Account, chatbot: Chatbot
) -> None:
    joined = ChatbotFactory(account=account)
    ChatbotMemberFactory(chatbot=joined, user=account.owner, role="Reviewer")
    empty = AccountFactory(owner=account.owner)
    ChatbotFactory()
    data = api.get(MY).json()["data"]
    assert data["totalCount"] == 2
    assert {each["accountId"] for each in data["accounts"]} == {str(account.pk), str(empty.pk)}
    assert {each["userRole"] for each in data["accounts"]} == {"OWNER"}
    own = next(each for each in data["accounts"] if each["accountId"] == str(account.pk))
    assert own["accountName"] == account.name
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


@pytest.mark.proves(
    "Endpoints named without shape/list-chatbots", "Pagination (list endpoints)/figures"
)
@pytest.mark.proves("Endpoints named without shape", "Pagination (list endpoints)")
def test_the_callers_chatbots_are_paginated_newest_first(
    api: Api, account: Account, chatbot: Chatbot
) -> None:
    bots = [chatbot, *ChatbotFactory.create_batch(4, account=account)]
    added = ChatbotFactory(account=MembershipFactory(user=account.owner).account)
    ChatbotMemberFactory(chatbot=added, user=account.owner)
    ChatbotFactory(account=added.account)
    seen = []
    for page in (1, 2, 3, 4):
        data = api.get(f"/v1/chatbots?page={page}&limit=2").json()["data"]
        assert sorted(data) == ["chatbots", "pagination"]
        assert data["pagination"] == {"page": page, "limit": 2, "total": 6, "pages": 3}
        seen += [record["chatbotId"] for record in data["chatbots"]]
    assert seen == [str(bot.pk) for bot in (added, *reversed(bots))]


@pytest.mark.proves("Pagination (list endpoints)/query", "Pagination (list endpoints)")
@pytest.mark.parametrize(
    ("query", "name", "message"),
    [
        *((f"limit={zeros}", "limit", "Must be at least 1") for zeros in ("0", "0" * 5_000)),
        *((f"limit={many}", "limit", "Must be at most 100") for many in ("101", "9" * 5_000)),
        *((f"limit={text}", "limit", None) for text in ("x", "", "1.0")),
        *((f"page={text}", "page", None) for text in ("0", "-1", "x")),
    ],
)
def test_an_invalid_page_is_rejected(api: Api, query: str, name: str, message: str | None) -> None:
    answer = api.get(f"/v1/chatbots?{query}")
    [error] = answer.json()["errors"]
    assert (answer.status_code, error["path"]) == (400, [name])
    assert message in (None, error["message"])


@pytest.mark.proves("Pagination (list endpoints)/query", "Pagination (list endpoints)")
@pytest.mark.parametrize(("query", "limit"), [("", 20), ("?limit=" + "0" * 5_000 + "12", 12)])
def test_a_page_has_twenty_rows_by_default(
    api: Api, account: Account, chatbot: Chatbot, query: str, limit: int
) -> None:
    ChatbotFactory.create_batch(20, account=account)
    data = api.get(f"/v1/chatbots{query}").json()["data"]
    assert len(data["chatbots"]) == limit
    assert data["pagination"] == {"page": 1, "limit": limit, "total": 21, "pages": 2}
