import uuid
from typing import Any

import pytest

from chatbots.models import Chatbot, GeneralSettings, LlmModel
from tests.chatbots.conftest import stored
from tests.chatbots.shapes import GENERAL, check, settable
from tests.conftest import Api
from tests.factories.chatbots import LlmModelFactory
from tests.fields import COUNT, FLAG, check_fields, text

pytestmark = pytest.mark.proves(
    "General and user-data settings (v0 paths)", "General settings (one per chatbot)"
)
INPUTS = settable(GENERAL, without={"llmId", "chatStart"})
LIMITED = {"limitMessagesPerConversation": True}


@pytest.fixture
def there(here_v0: str) -> str:
    return f"{here_v0}/settings/general"


@pytest.fixture
def row(chatbot: Chatbot) -> GeneralSettings:
    return GeneralSettings.objects.get(chatbot=chatbot)


@pytest.mark.proves("General settings (one per chatbot)/record")
def test_settings_that_were_never_set_have_their_defaults(
    api: Api, there: str, row: GeneralSettings, default_model: LlmModel
) -> None:
    answer = api.patch(there, {})
    assert answer.status_code == 200
    assert answer.json()["message"] == "general settings updated successfully"
    record = answer.json()["data"]
    check(record, GENERAL)
    assert (record["id"], record["chatbotId"]) == (str(row.pk), str(row.chatbot_id))
    assert record["llmId"] == str(default_model.pk)
    assert (record["maxMessagesPerConversation"], record["chatStart"]) == (50, "")


def test_a_missing_row_is_created_on_demand(api: Api, there: str, row: GeneralSettings) -> None:
    row.delete()
    record = api.patch(there, {"description": "new"}).json()["data"]
    check(record, GENERAL)
    assert record["description"] == "new"
    assert GeneralSettings.objects.count() == 1


@pytest.mark.parametrize("name", [name for name in INPUTS if name != "maxMessagesPerConversation"])
def test_only_provided_fields_are_changed(
    api: Api, there: str, row: GeneralSettings, name: str
) -> None:
    before = stored(row)
    values: dict[type, Any] = {bool: True, int: 7, str: "x"}
    api.patch(there, {name: values[GENERAL[name]], "llmId": "x", "chatStart": "x"})
    after = stored(row)
    changed = {column for column in after if after[column] != before[column]}
    changed -= {"version"}  # the version counts only changes that affect prompts
    assert len(changed) == 2
    assert "updated_at" in changed


# llmModelId


@pytest.mark.proves("General settings (one per chatbot)/record")
def test_an_active_model_can_be_chosen(api: Api, there: str, default_model: LlmModel) -> None:
    chosen = LlmModelFactory()
    for body in ({"llmModelId": str(chosen.pk)}, {}, {"llmModelId": str(chosen.pk).upper()}):
        assert api.patch(there, body).json()["data"]["llmId"] == str(chosen.pk)
    LlmModel.objects.filter(pk=chosen.pk).update(is_active=False)
    assert api.patch(there, {}).json()["data"]["llmId"] == str(default_model.pk)


@pytest.mark.proves("General and user-data settings (v0 paths)/general")
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


# maxMessagesPerConversation


@pytest.mark.proves("General and user-data settings (v0 paths)/general")
@pytest.mark.parametrize(
    ("limited", "body", "status"),
    [
        (False, {"maxMessagesPerConversation": 5}, 400),
        (False, {"maxMessagesPerConversation": 5, "limitMessagesPerConversation": False}, 400),
        (False, {"maxMessagesPerConversation": 5, "limitMessagesPerConversation": True}, 200),
        (True, {"maxMessagesPerConversation": 5}, 200),
        (True, {"maxMessagesPerConversation": 0}, 200),
        (True, {"maxMessagesPerConversation": 5, "limitMessagesPerConversation": True}, 200),
        (True, {"maxMessagesPerConversation": 5, "limitMessagesPerConversation": False}, 400),
    ],
)
def test_the_message_limit_can_be_set_only_while_it_is_enabled(
    api: Api,
    there: str,
    row: GeneralSettings,
    limited: bool,
    body: dict[str, Any],
    status: int,
) -> None:
    GeneralSettings.objects.filter(pk=row.pk).update(limit_messages_per_conversation=limited)
    before = stored(row)
    answer = api.patch(there, {"description": "other"} | body)
    assert answer.status_code == status
    if status == 200:
        assert {name: answer.json()["data"][name] for name in body} == body
    else:
        errors = answer.json()["errors"]
        assert [error["path"] for error in errors] == [["maxMessagesPerConversation"]]
        assert stored(row) == before


def test_the_message_limit_is_kept_while_it_is_disabled(api: Api, there: str) -> None:
    api.patch(there, LIMITED | {"maxMessagesPerConversation": 7})
    record = api.patch(there, {"limitMessagesPerConversation": False}).json()["data"]
    assert record["maxMessagesPerConversation"] == 7


FIELDS = {
    **{field: FLAG for field in INPUTS if GENERAL[field] is bool},
    **{field: COUNT for field in INPUTS if GENERAL[field] is int},
    "description": text(65_535),
    "fallbackMessage": text(65_535),
}
SWITCH = "limitMessagesPerConversation"


@pytest.mark.proves("General and user-data settings (v0 paths)/general")
def test_every_field_is_checked_and_stored(api: Api, there: str, row: GeneralSettings) -> None:
    assert sorted(FIELDS) == sorted(INPUTS)
    others = {field: kind for field, kind in FIELDS.items() if field != SWITCH}
    check_fields(api.patch, there, others, lambda: stored(row), base=LIMITED)
    check_fields(api.patch, there, {SWITCH: FLAG}, lambda: stored(row))
