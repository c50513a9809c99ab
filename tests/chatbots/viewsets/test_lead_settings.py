from typing import Any

import pytest

from chatbots.models import Chatbot, LeadSettings
from tests.chatbots.conftest import FORM_FIELD
from tests.conftest import Api
from tests.factories.chatbots import LeadSettingsFactory
from tests.fields import stored

pytestmark = pytest.mark.proves("Lead settings", "Lead settings (one per chatbot)")

CREATED = "lead settings created successfully"
WHOLE_FIELD = FORM_FIELD | {"placeholder_text": "ACME", "options": ""}


@pytest.fixture
def there(here: str) -> str:
    return f"{here}/lead-settings"


@pytest.fixture
def row(chatbot: Chatbot) -> LeadSettings:
    return LeadSettingsFactory(chatbot=chatbot, industry_template="old")


@pytest.mark.proves("Lead settings/create")
def test_the_first_post_creates_the_record_and_a_second_one_updates_it(
    api: Api, there: str, chatbot: Chatbot
) -> None:
    first = api.post(there, {})
    record = first.json()["data"]
    row = LeadSettings.objects.get()
    assert (record["id"], record["chatbotId"]) == (str(row.pk), str(chatbot.pk))
    assert (record["leadNotificationEmail"], record["customerFormField"]) == ([], [])
    second = api.post(there, {"leadNotification": True, "whenUserShareDetails": "optional"})
    for answer in (first, second):
        assert (answer.status_code, answer.json()["message"]) == (200, CREATED)
    changed = second.json()["data"]
    assert changed == record | {"leadNotification": True, "updatedAt": changed["updatedAt"]}
    # The field belongs to the user-data settings
    assert LeadSettings.objects.get().when_user_share_details == row.when_user_share_details


def test_lists_are_stored_and_returned(api: Api, there: str) -> None:
    phone = FORM_FIELD | {"display_label": "", "field_type": "phone"}
    lists = {
        "leadNotificationEmail": ["anna@example.com", "b+c@sub.example.org"],
        "customerFormField": [WHOLE_FIELD, phone],
    }
    for answer in (api.post(there, lists), api.get(there)):
        assert {name: answer.json()["data"][name] for name in lists} == lists


@pytest.mark.proves("Lead settings/read", "Lead settings/delete")
def test_a_deletion_returns_the_deleted_record(api: Api, there: str, row: LeadSettings) -> None:
    LeadSettingsFactory(chatbot__name="another")
    read, deleted = api.get(there), api.delete(there)
    assert read.json()["data"]["industryTemplate"] == "old"
    assert deleted.json()["message"] == "lead settings deleted successfully"
    assert deleted.json()["data"] == read.json()["data"]
    for answer in (api.get(there), api.delete(there)):
        assert answer.status_code == 404
        assert answer.json() == {"success": False, "message": "lead settings not found"}
    assert LeadSettings.objects.count() == 1


@pytest.mark.parametrize(
    ("addresses", "path"),
    [
        pytest.param(["a@example.com", "nonsense"], ["1"], id="not an address"),
        pytest.param(["a@"], ["0"], id="address without a domain"),
        *(([value], ["0"]) for value in ("", 5, None, " a@example.com")),
        pytest.param(["a@example.com\r\nBcc: b@example.com"], ["0"], id="line break"),
        pytest.param([f"{'x' * 250}@example.com"], ["0"], id="too long"),
        pytest.param(["a@example.com"] * 51, [], id="too many"),
    ],
)
def test_every_address_must_be_a_valid_email_address(
    api: Api, there: str, row: LeadSettings, addresses: list[Any], path: list[str]
) -> None:
    before = stored(row)
    answer = api.post(there, {"leadNotificationEmail": addresses})
    assert answer.status_code == 400
    assert [e["path"] for e in answer.json()["errors"]] == [["leadNotificationEmail", *path]]
    assert stored(row) == before


MISSING = object()


@pytest.mark.proves("Lead settings (one per chatbot)/fields", "Bodies/validation")
@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        *((name, [MISSING], "Required") for name in FORM_FIELD),
        *((name, [None, [], 5], None) for name in WHOLE_FIELD),
        *((name, ["x" * 256], None) for name in ("display_label", "placeholder_text", "options")),
        ("required", ["true"], "Expected boolean"),
        ("field_name", ["", " "], "Required"),
        ("field_name", ["Company Name", "companyName"], "Expected snake_case"),
        ("field_name", ["x" * 256], None),
        ("field_type", ["date", "TEXT", ""], None),
    ],
)
def test_a_bad_property_of_a_form_field_is_named_by_its_path(
    api: Api, there: str, row: LeadSettings, name: str, values: list[Any], message: str | None
) -> None:
    before = stored(row)
    for value in values:
        broken = {**WHOLE_FIELD, name: value}
        if value is MISSING:
            del broken[name]
        answer = api.post(there, {"customerFormField": [FORM_FIELD, broken]})
        assert answer.status_code == 400
        [error] = answer.json()["errors"]
        assert error["path"] == ["customerFormField", "1", name]
        assert message in (None, error["message"])
    assert stored(row) == before


def test_a_form_field_must_be_an_object(api: Api, there: str) -> None:
    for value in ("x", 5, None, [], True):
        answer = api.post(there, {"customerFormField": [value]})
        assert answer.json()["errors"] == [
            {"path": ["customerFormField", "0"], "message": "Expected object"}
        ]


@pytest.mark.proves("Lead settings (one per chatbot)/fields")
@pytest.mark.parametrize("field_type", ["text", "textarea", "email", "phone"])
def test_only_documented_properties_are_stored(api: Api, there: str, field_type: str) -> None:
    field = FORM_FIELD | {"field_type": field_type, "display_label": ""}
    given = field | {"displayLabel": "x", "more": 1}
    [kept] = api.post(there, {"customerFormField": [given]}).json()["data"]["customerFormField"]
    assert kept == field
