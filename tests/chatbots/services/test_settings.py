"""Rules that hold when settings are written and deleted concurrently."""

from collections import Counter
from functools import partial

import pytest

from chatbots.models import Appearance, Chatbot, GeneralSettings, LeadSettings
from tests.chatbots.conftest import at_once
from tests.conftest import Api

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.proves("Lead settings", "General and user-data settings (v0 paths)"),
]
MANY = 10


@pytest.fixture(autouse=True)
def nothing_there(chatbot: Chatbot) -> None:
    for kind in (Appearance, GeneralSettings):
        kind.objects.filter(chatbot=chatbot).delete()


def test_concurrent_first_writes_create_one_row_of_each_kind(
    api: Api, here: str, chatbot: Chatbot
) -> None:
    v0 = here.replace("/v1/", "/v0/")
    calls = [
        partial(api.post, f"{here}/lead-settings", {"leadNotification": True}),
        partial(api.patch, f"{v0}/settings/user-data", {"customerNameTake": False}),
        partial(api.patch, f"{v0}/settings/general", {"description": "x"}),
        partial(api.put, f"{here}/settings", {"fallbackMessage": "x", "customerPhoneTake": False}),
        partial(api.put, f"{here}/appearance", {"tooltip": "x"}),
        partial(api.get, f"{here}/appearance"),
    ]
    answers = at_once(calls * 3)
    assert Counter(answer.status_code for answer in answers) == {200: 18}
    for kind in (Appearance, GeneralSettings, LeadSettings):
        assert kind.objects.filter(chatbot=chatbot).count() == 1
    lead = LeadSettings.objects.get(chatbot=chatbot)
    general = GeneralSettings.objects.get(chatbot=chatbot)
    assert (lead.lead_notification, lead.customer_name_take, lead.customer_phone_take) == (
        True,
        False,
        False,
    )
    assert (general.description, general.fallback_message) == ("x", "x")


def test_one_of_many_concurrent_deletions_returns_the_record(api: Api, here: str) -> None:
    api.post(f"{here}/lead-settings", {})
    answers = at_once([partial(api.delete, f"{here}/lead-settings")] * MANY)
    assert Counter(answer.status_code for answer in answers) == {200: 1, 404: MANY - 1}
