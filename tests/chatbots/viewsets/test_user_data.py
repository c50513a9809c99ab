import pytest

from chatbots.models import Chatbot, LeadSettings
from tests.chatbots.conftest import stored
from tests.chatbots.shapes import USER_DATA, check
from tests.conftest import Api
from tests.factories.chatbots import LeadSettingsFactory
from tests.fields import FLAG, check_fields, choice

pytestmark = pytest.mark.proves(
    "General and user-data settings (v0 paths)", "User-data settings (returned shape)"
)


@pytest.fixture
def there(here_v0: str) -> str:
    return f"{here_v0}/settings/user-data"


@pytest.fixture
def row(chatbot: Chatbot) -> LeadSettings:
    return LeadSettingsFactory(chatbot=chatbot)


@pytest.mark.proves(
    "General and user-data settings (v0 paths)/user-data",
    "User-data settings (returned shape)/record",
)
@pytest.mark.parametrize("name", USER_DATA)
@pytest.mark.parametrize("value", [True, False])
def test_the_booleans_are_those_of_the_lead_settings(
    api: Api, there: str, here: str, name: str, value: bool
) -> None:
    api.post(f"{here}/lead-settings", dict.fromkeys(USER_DATA, not value))
    answer = api.patch(there, {name: value})
    assert answer.status_code == 200
    assert answer.json()["message"] == "user data settings updated successfully"
    record = answer.json()["data"]
    check(record, USER_DATA)
    assert record == dict.fromkeys(USER_DATA, not value) | {name: value}
    lead = api.get(f"{here}/lead-settings").json()["data"]
    assert {each: lead[each] for each in USER_DATA} == record


def test_lead_settings_are_created_on_demand(api: Api, there: str, chatbot: Chatbot) -> None:
    answer = api.patch(there, {"customerPhoneTake": False})
    check(answer.json()["data"], USER_DATA)
    assert LeadSettings.objects.get().chatbot == chatbot
    assert answer.json()["data"]["customerPhoneTake"] is False


@pytest.mark.proves("General and user-data settings (v0 paths)/user-data")
@pytest.mark.parametrize("value", ["mandatory", "optional", "do_not_collect"])
def test_when_user_share_details_is_stored_but_not_returned(
    api: Api, there: str, row: LeadSettings, value: str
) -> None:
    check(api.patch(there, {"whenUserShareDetails": value}).json()["data"], USER_DATA)
    assert stored(row)["when_user_share_details"] == value


FIELDS = dict.fromkeys(USER_DATA, FLAG) | {
    "whenUserShareDetails": choice("mandatory", "optional", "do_not_collect")
}


def test_every_field_is_checked_and_stored(api: Api, there: str, row: LeadSettings) -> None:
    check_fields(api.patch, there, FIELDS, lambda: stored(row))
