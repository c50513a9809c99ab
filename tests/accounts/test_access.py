"""A key bound to one account opens only that account, even if the key's owner has others."""

from typing import Any

import pytest

from accounts.models import Account, ApiKey, User
from accounts.services import api_key
from chatbots.models import Chatbot
from tests.conftest import Api
from tests.contract.operations import ACCOUNT, CLOSED, FORBIDDEN, OPERATIONS, call, ids_of
from tests.factories.accounts import AccountFactory, MembershipFactory
from tests.factories.chatbots import ChatbotFactory, ChatbotMemberFactory

pytestmark = pytest.mark.proves("Authentication/5", "Authentication/6")


@pytest.fixture
def here(chatbot: Chatbot) -> Chatbot:
    """A chatbot to which a member was added."""
    member = MembershipFactory(account=chatbot.account)
    ChatbotMemberFactory(chatbot=chatbot, user=member.user)
    return chatbot


@pytest.fixture
def person(here: Chatbot) -> User:
    return here.members.get()


@pytest.fixture
def bound(here: Chatbot, person: User) -> Api:
    """A client with a key that is bound to the account of `here`. The person owns no account."""
    return Api(api_key.issue(person, account=here.account)[1])


@pytest.fixture
def elsewhere(bound: Api, person: User) -> Chatbot:
    """A chatbot in another account of the key's owner. The key cannot access this account."""
    account: Account = AccountFactory(owner=person)
    return ChatbotFactory(account=account)


def listed(api: Api) -> dict[str, Any]:
    """Return the ids that the API lists for the caller, and the total count."""
    mine = api.get("/v1/chatbots/my-chatbots").json()["data"]
    bots = api.get("/v1/chatbots").json()["data"]["chatbots"]
    return {
        "accounts": [each["accountId"] for each in mine["accounts"]],
        "my chatbots": [bot["chatbotId"] for each in mine["accounts"] for bot in each["chatbots"]],
        "total": mine["totalCount"],
        "chatbots": [bot["chatbotId"] for bot in bots],
    }


def test_the_lists_contain_only_the_account_of_a_bound_key(
    here: Chatbot, person: User, bound: Api, elsewhere: Chatbot
) -> None:
    unbound = Api(api_key.issue(person)[1])
    assert set(listed(unbound)["chatbots"]) == {str(here.pk), str(elsewhere.pk)}
    assert listed(bound) == {
        "accounts": [str(here.account_id)],
        "my chatbots": [str(here.pk)],
        "total": 1,
        "chatbots": [str(here.pk)],
    }


@pytest.mark.parametrize("operation", [o for o in OPERATIONS if "{" in o.path], ids=str)
def test_a_bound_key_permits_no_operation_in_its_owners_other_account(
    bound: Api, elsewhere: Chatbot, operation: Any
) -> None:
    answer = call(bound, operation, ids_of(elsewhere))
    refusal = FORBIDDEN if operation.path.startswith(ACCOUNT) else CLOSED
    assert (answer.status_code, answer.json()) == (403, refusal)


def test_a_rotated_key_stays_bound(here: Chatbot, bound: Api, elsewhere: Chatbot) -> None:
    replaced = api_key.replace(ApiKey.objects.get())
    assert replaced
    row, text = replaced
    assert row.account == here.account
    assert listed(Api(text))["chatbots"] == [str(here.pk)]
