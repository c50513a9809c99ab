import json
import uuid
from typing import Any

import pytest

from chatbots.models import Chatbot, ConversationStarter
from tests.conftest import Api

pytestmark = pytest.mark.proves(
    "Endpoints named without shape", "Records whose fields are left open"
)
ADDED = {"id", "chatbotId", "createdAt", "updatedAt"}


@pytest.fixture
def there(here: str) -> str:
    return f"{here}/conversation-starters"


@pytest.mark.proves(
    "Endpoints named without shape/starters", "Records whose fields are left open/starters"
)
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"title": " Hello ✓ ", "rank": 1, "on": True, "off": None},
        {"nested": {"list": [1, 2.5, "x", [], {}], "": ""}, "snake_case": {"camelCase": 1}},
        {"big": 10**30, "small": 5e-324},
    ],
)
def test_an_object_is_stored_and_returned_as_given(
    api: Api, there: str, chatbot: Chatbot, body: dict[str, Any]
) -> None:
    answer = api.post(there, json.dumps(body).encode())
    assert (answer.status_code, answer.json()["message"]) == (200, "success")
    record = answer.json()["data"]
    assert set(record) == set(body) | ADDED
    assert {name: record[name] for name in body} == body
    assert record["chatbotId"] == str(chatbot.pk)
    row = ConversationStarter.objects.get(pk=uuid.UUID(record["id"]))
    assert (row.content, row.chatbot) == (body, chatbot)


def test_the_added_fields_take_precedence_over_given_ones(
    api: Api, there: str, chatbot: Chatbot
) -> None:
    record = api.post(there, dict.fromkeys(ADDED, "mine")).json()["data"]
    assert "mine" not in record.values()
    assert record["chatbotId"] == str(chatbot.pk)


def test_each_post_creates_one_starter(api: Api, there: str) -> None:
    keys = {api.post(there, {"title": "same"}).json()["data"]["id"] for _ in range(3)}
    assert len(keys) == ConversationStarter.objects.count() == 3
