from typing import Any

import pytest

from chatbots.models import Chatbot, GeneralSettings, LeadSettings
from tests.chatbots.conftest import stored
from tests.chatbots.shapes import ALL_SETTINGS, USER_DATA, check
from tests.conftest import Api
from tests.factories.chatbots import LeadSettingsFactory, LlmModelFactory

pytestmark = pytest.mark.proves("Endpoints named without shape")


@pytest.fixture
def there(here: str) -> str:
    return f"{here}/settings"


@pytest.mark.proves("Endpoints named without shape/put-settings")
def test_both_kinds_are_set_in_one_request(
    api: Api, there: str, here: str, chatbot: Chatbot
) -> None:
    model = LlmModelFactory()
    body = {
        "description": "new",
        "limitMessagesPerConversation": True,
        "maxMessagesPerConversation": 7,
        "customerPhoneTake": False,
    }
    more = {"llmModelId": str(model.pk), "whenUserShareDetails": "optional"}
    answer = api.put(there, body | more)
    assert (answer.status_code, answer.json()["message"]) == (200, "success")
    record = answer.json()["data"]
    check(record, ALL_SETTINGS)
    assert {name: record[name] for name in body} == body
    assert record["llmId"] == str(model.pk)
    assert record["id"] == str(GeneralSettings.objects.get(chatbot=chatbot).pk)
    lead = LeadSettings.objects.get(chatbot=chatbot)
    assert (lead.customer_phone_take, lead.when_user_share_details) == (False, "optional")
    shown = api.get(f"{here}/lead-settings").json()["data"]
    assert {name: record[name] for name in USER_DATA} == {name: shown[name] for name in USER_DATA}


def test_without_user_data_lead_collection_stays_off(api: Api, there: str) -> None:
    record = api.put(there, {"description": "new"}).json()["data"]
    check(record, ALL_SETTINGS)
    assert not any(record[name] for name in USER_DATA)
    assert not LeadSettings.objects.exists()


def test_without_user_data_the_record_shows_the_stored_values(
    api: Api, there: str, chatbot: Chatbot
) -> None:
    LeadSettingsFactory(chatbot=chatbot, customer_name_take=False)
    record = api.put(there, {}).json()["data"]
    assert {name: record[name] for name in USER_DATA} == dict.fromkeys(USER_DATA, True) | {
        "customerNameTake": False
    }


@pytest.mark.parametrize(
    ("body", "path"),
    [
        pytest.param(
            {"maxMessagesPerConversation": 5},
            ["maxMessagesPerConversation"],
            id="message limit while disabled",
        ),
        pytest.param({"description": 5}, ["description"], id="number as description"),
        pytest.param({"customerNameTake": 1}, ["customerNameTake"], id="number as boolean"),
        pytest.param({"whenUserShareDetails": "x"}, ["whenUserShareDetails"], id="unknown choice"),
        pytest.param({"llmModelId": "x"}, ["llmModelId"], id="malformed model id"),
    ],
)
def test_a_bad_field_changes_neither_kind(
    api: Api, there: str, chatbot: Chatbot, body: Any, path: list[str]
) -> None:
    rows = [GeneralSettings.objects.get(chatbot=chatbot), LeadSettingsFactory(chatbot=chatbot)]
    before = [stored(row) for row in rows]
    good = {"disableSmartFollowup": True, "customerPhoneTake": False}
    answer = api.put(there, good | body)
    assert (answer.status_code, [e["path"] for e in answer.json()["errors"]]) == (400, [path])
    assert [stored(row) for row in rows] == before
