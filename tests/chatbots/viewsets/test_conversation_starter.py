import json
import uuid
from typing import Any

import pytest

from chatbots.models import Chatbot, ConversationStarter
from tests.conftest import Api

pytestmark = pytest.mark.proves(
    "Endpoints named without shape",
    "Endpoints named without shape/starters",
    "Records whose fields are left open",
    "Records whose fields are left open/starters",
)
ADDED = {"id", "chatbotId", "createdAt", "updatedAt"}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"title": " Hello ✓ ", "rank": 1, "on": True, "off": None},
        {"nested": {"list": [1, 2.5, "x", [], {}], "": ""}, "snake_case": {"camelCase": 1}},
        {"big": 10**30, "small": 5e-324},
    ],
)
def test_each_post_stores_and_returns_its_object_as_given(
    api: Api, here: str, chatbot: Chatbot, body: dict[str, Any]
) -> None:
    for _ in range(2):
        raw = json.dumps(dict.fromkeys(ADDED, "mine") | body).encode()
        record = api.post(f"{here}/conversation-starters", raw).json()["data"]
        assert set(record) == set(body) | ADDED
        assert {name: record[name] for name in body} == body
        assert "mine" not in [record[name] for name in ADDED]
        assert record["chatbotId"] == str(chatbot.pk)
        row = ConversationStarter.objects.get(pk=uuid.UUID(record["id"]))
        assert {name: row.content[name] for name in body} == body
    assert ConversationStarter.objects.filter(chatbot=chatbot).count() == 2
