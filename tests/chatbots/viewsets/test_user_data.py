import pytest

from chatbots.models import Chatbot, LeadSettings
from tests.conftest import Api

pytestmark = pytest.mark.proves(
    "General and user-data settings (v0 paths)", "User-data settings (returned shape)"
)
FLAGS = ("enableLeadCollection", "customerNameTake", "customerPhoneTake", "customerEmailTake")


@pytest.fixture
def there(chatbot: Chatbot) -> str:
    return f"/v0/chatbots/chatbot/{chatbot.pk}/settings/user-data"


@pytest.mark.proves(
    "General and user-data settings (v0 paths)/user-data",
    "User-data settings (returned shape)/record",
)
@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", [True, False])
def test_the_booleans_are_those_of_the_lead_settings(
    api: Api, there: str, here: str, name: str, value: bool
) -> None:
    api.post(f"{here}/lead-settings", dict.fromkeys(FLAGS, not value))
    answer = api.patch(there, {name: value, "whenUserShareDetails": "optional"})
    assert answer.json()["message"] == "user data settings updated successfully"
    record = answer.json()["data"]
    assert record == dict.fromkeys(FLAGS, not value) | {name: value}
    lead = api.get(f"{here}/lead-settings").json()["data"]
    assert {each: lead[each] for each in FLAGS} == record
    assert LeadSettings.objects.get().when_user_share_details == "optional"
