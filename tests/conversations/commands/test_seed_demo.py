"""The `seed_demo` command."""

from typing import Any
from uuid import UUID

import pytest

from accounts.models import Account, Plan, User
from accounts.permissions import Role
from chatbots.models import Chatbot, LlmModel
from conversations.models import Message, Thread
from tests.commands import record, run
from tests.conftest import Api

pytestmark = pytest.mark.django_db
CHATBOT = {"chatbotId", "name", "instructionIds", "personaIds", "followUpPromptIds"}
CHATBOT |= {"localeCodes", "threads"}
USER = {"userId", "email", "role", "permissions", "apiKey", "chatbotIds"}


@pytest.fixture
def seeded(default_model: LlmModel) -> Any:
    return record("seed_demo")


def test_it_has_exactly_the_documented_shape(seeded: Any) -> None:
    assert " ".join(seeded) == "baseUrl adminUrl adminEmail adminPassword llmModels accounts"
    assert seeded["baseUrl"] == "http://127.0.0.1:8000/api"
    assert seeded["adminUrl"] == "http://127.0.0.1:8000/admin/"
    for model in seeded["llmModels"]:
        assert set(model) == {"id", "provider", "title", "isActive"}
    assert {model["isActive"] for model in seeded["llmModels"]} == {True, False}
    for account in seeded["accounts"]:
        assert list(account) == ["accountId", "accountName", "plan", "users", "chatbots"]
        assert all(set(user) == USER for user in account["users"])
        assert all(set(chatbot) == CHATBOT for chatbot in account["chatbots"])


def test_it_contains_people_of_every_role(seeded: Any) -> None:
    first, second = seeded["accounts"]
    shop = first["chatbots"][0]["chatbotId"]
    assert (first["plan"], second["plan"]) == ("Scale", "Starter")
    assert [(u["role"], u["permissions"], u["chatbotIds"]) for u in first["users"]] == [
        (Role.OWNER, [], []),
        (Role.SUPER_ADMIN, [], []),
        (Role.MEMBER, [], [shop]),
        (Role.MEMBER, ["CHATBOT_VIEW"], []),
    ]
    assert [u["role"] for u in second["users"]] == [Role.OWNER]


def test_its_chatbots_can_be_used_immediately(seeded: Any) -> None:
    first, second = seeded["accounts"]
    assert (len(first["chatbots"]), len(second["chatbots"])) == (2, 1)
    for chatbot in first["chatbots"]:
        assert (len(chatbot["instructionIds"]), len(chatbot["personaIds"])) == (2, 1)
        assert all(map(UUID, chatbot["followUpPromptIds"].values()))
        assert sorted(chatbot["followUpPromptIds"]) == ["button", "link"]
        assert chatbot["localeCodes"] == ["en", "de"]
        [thread] = chatbot["threads"]
        assert thread["messageCount"] == 45
        owner = Api(first["users"][0]["apiKey"])
        path = f"/v1/chatting/{chatbot['chatbotId']}/thread/{thread['threadId']}"
        details = owner.get(path).json()["data"]["thread"]
        assert details["visitorId"] == thread["visitorId"]


def test_a_second_run_finds_everything_and_creates_new_secrets(seeded: Any) -> None:
    def counted() -> list[int]:
        return [m.objects.count() for m in (User, Account, Chatbot, Thread, Message, LlmModel)]

    before = counted()
    User.objects.update(is_active=False)  # new secrets activate people
    again = record("seed_demo")
    assert counted() == before

    def lasting(value: Any) -> Any:
        if isinstance(value, dict):
            secret = {"apiKey", "adminPassword"}
            return {name: lasting(part) for name, part in value.items() if name not in secret}
        return [lasting(part) for part in value] if isinstance(value, list) else value

    assert lasting(again) == lasting(seeded)
    assert again["adminPassword"] != seeded["adminPassword"]
    old, new = (each["accounts"][0]["users"][0]["apiKey"] for each in (seeded, again))
    statuses = [Api(key).get("/v1/chatbots").status_code for key in (old, new)]
    assert statuses == [401, 200]
    admin = User.objects.get(email=again["adminEmail"])
    assert admin.is_active and admin.check_password(again["adminPassword"])


def test_the_output_for_people_lists_the_keys(default_model: LlmModel) -> None:
    said = run("seed_demo")
    assert said.count("cbk_") == 5
    assert Plan.objects.count() == 3
