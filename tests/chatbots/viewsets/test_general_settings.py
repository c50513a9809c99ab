import uuid
from typing import Any

import pytest

from chatbots.models import Chatbot, GeneralSettings, LlmModel
from tests.conftest import Api
from tests.factories.chatbots import LlmModelFactory
from tests.fields import stored

pytestmark = pytest.mark.proves(
    "General and user-data settings (v0 paths)",
    "General and user-data settings (v0 paths)/general",
    "General settings (one per chatbot)",
)
SWITCH, LIMIT = "limitMessagesPerConversation", "maxMessagesPerConversation"


@pytest.fixture
def there(chatbot: Chatbot) -> str:
    return f"/v0/chatbots/chatbot/{chatbot.pk}/settings/general"


@pytest.fixture
def row(chatbot: Chatbot) -> GeneralSettings:
    return GeneralSettings.objects.get(chatbot=chatbot)


@pytest.mark.proves("General settings (one per chatbot)/record")
def test_an_active_model_can_be_chosen(api: Api, there: str, default_model: LlmModel) -> None:
    assert api.patch(there, {}).json()["data"]["llmId"] == str(default_model.pk)
    chosen = LlmModelFactory()
    for body in ({"llmModelId": str(chosen.pk)}, {}, {"llmModelId": str(chosen.pk).upper()}):
        assert api.patch(there, body).json()["data"]["llmId"] == str(chosen.pk)
    LlmModel.objects.filter(pk=chosen.pk).update(is_active=False)
    assert api.patch(there, {}).json()["data"]["llmId"] == str(default_model.pk)


@pytest.mark.parametrize("value", ["unknown", "inactive", "nonsense", "", 5, None, True, []])
def test_only_an_active_model_is_accepted(
    api: Api, there: str, row: GeneralSettings, value: Any
) -> None:
    before = stored(row)
    known = {"unknown": uuid.uuid4(), "inactive": LlmModelFactory(is_active=False).pk}
    given = str(known[value]) if value in ("unknown", "inactive") else value
    answer = api.patch(there, {"description": "other", "llmModelId": given})
    assert answer.status_code == 400
    assert [error["path"] for error in answer.json()["errors"]] == [["llmModelId"]]
    assert stored(row) == before


@pytest.mark.parametrize(
    ("limited", "body", "status"),
    [
        (False, {LIMIT: 5}, 400),
        (False, {LIMIT: 5, SWITCH: False}, 400),
        (False, {LIMIT: 5, SWITCH: True}, 200),
        (True, {LIMIT: 5}, 200),
        (True, {LIMIT: 5, SWITCH: True}, 200),
        (True, {LIMIT: 5, SWITCH: False}, 400),
    ],
)
def test_the_message_limit_can_be_set_only_while_it_is_enabled(
    api: Api, there: str, row: GeneralSettings, limited: bool, body: dict[str, Any], status: int
) -> None:
    GeneralSettings.objects.update(limit_messages_per_conversation=limited)
    before = stored(row)
    answer = api.patch(there, {"description": "other"} | body)
    assert answer.status_code == status
    if status == 200:
        assert {name: answer.json()["data"][name] for name in body} == body
        kept = api.patch(there, {SWITCH: False}).json()["data"]
        assert kept[LIMIT] == 5, "the limit is kept while it is disabled"
    else:
        assert [error["path"] for error in answer.json()["errors"]] == [[LIMIT]]
        assert stored(row) == before
