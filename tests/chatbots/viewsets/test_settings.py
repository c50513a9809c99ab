import pytest

from chatbots.models import Chatbot, GeneralSettings, LeadSettings
from tests.conftest import Api
from tests.factories.chatbots import LeadSettingsFactory, LlmModelFactory

pytestmark = pytest.mark.proves("Endpoints named without shape")
FLAGS = ("enableLeadCollection", "customerNameTake", "customerPhoneTake", "customerEmailTake")


@pytest.fixture
def there(here: str) -> str:
    return f"{here}/settings"


@pytest.mark.proves("Endpoints named without shape/put-settings")
def test_both_kinds_are_set_in_one_request(
    api: Api, there: str, here: str, chatbot: Chatbot
) -> None:
    model = LlmModelFactory()
    body = {"description": "new", "historyMessageContext": 7, "customerPhoneTake": False}
    more = {"llmModelId": str(model.pk), "whenUserShareDetails": "optional"}
    record = api.put(there, body | more).json()["data"]
    assert {name: record[name] for name in body} == body
    assert record["llmId"] == str(model.pk)
    assert record["id"] == str(GeneralSettings.objects.get(chatbot=chatbot).pk)
    lead = LeadSettings.objects.get(chatbot=chatbot)
    assert (lead.customer_phone_take, lead.when_user_share_details) == (False, "optional")
    shown = api.get(f"{here}/lead-settings").json()["data"]
    assert {name: record[name] for name in FLAGS} == {name: shown[name] for name in FLAGS}


def test_without_user_data_the_stored_values_are_shown_and_nothing_is_created(
    api: Api, there: str, chatbot: Chatbot
) -> None:
    record = api.put(there, {"description": "new"}).json()["data"]
    assert not any(record[name] for name in FLAGS)
    assert not LeadSettings.objects.exists()
    LeadSettingsFactory(chatbot=chatbot, customer_name_take=False)
    record = api.put(there, {}).json()["data"]
    assert [record[name] for name in FLAGS] == [True, False, True, True]
