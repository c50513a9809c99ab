from typing import Any

import pytest

from chatbots.models import Chatbot, LeadSettings
from tests.chatbots.conftest import stored
from tests.chatbots.shapes import LEAD_SETTINGS, check, settable
from tests.conftest import Api
from tests.factories.chatbots import LeadSettingsFactory
from tests.fields import FLAG, Kind, check_fields, text

pytestmark = pytest.mark.proves("Lead settings", "Lead settings (one per chatbot)")

CREATED = "lead settings created successfully"
FIELD = {
    "display_label": "Company",
    "field_name": "company_name",
    "field_type": "text",
    "required": True,
}
WHOLE_FIELD = FIELD | {"placeholder_text": "ACME", "options": ""}


@pytest.fixture
def there(here: str) -> str:
    return f"{here}/lead-settings"


@pytest.fixture
def row(chatbot: Chatbot) -> LeadSettings:
    return LeadSettingsFactory(chatbot=chatbot, industry_template="old")


@pytest.mark.proves("Lead settings/create", "Lead settings (one per chatbot)/record")
def test_the_first_post_creates_the_record_with_defaults(
    api: Api, there: str, chatbot: Chatbot
) -> None:
    assert not LeadSettings.objects.exists()
    answer = api.post(there, {})
    assert (answer.status_code, answer.json()["message"]) == (200, CREATED)
    record = answer.json()["data"]
    check(record, LEAD_SETTINGS)
    row = LeadSettings.objects.get()
    assert (record["id"], record["chatbotId"]) == (str(row.pk), str(chatbot.pk))
    assert (record["leadNotificationEmail"], record["customerFormField"]) == ([], [])


def test_every_field_can_be_set_and_is_stored(api: Api, there: str) -> None:
    values: dict[type, Any] = {bool: True, str: "x ✓"}
    kinds = {name: LEAD_SETTINGS[name] for name in settable(LEAD_SETTINGS)}
    lists = {
        "leadNotificationEmail": ["anna@example.com", "b+c@sub.example.org"],
        "customerFormField": [WHOLE_FIELD, FIELD | {"display_label": "", "field_type": "phone"}],
    }
    for flag in (True, False):
        values[bool] = flag
        body = {name: values[kind] for name, kind in kinds.items() if kind is not list} | lists
        for answer in (api.post(there, body), api.get(there)):
            record = answer.json()["data"]
            check(record, LEAD_SETTINGS)
            assert {name: record[name] for name in body} == body


@pytest.mark.proves("Lead settings/create")
def test_a_second_post_updates_the_record(api: Api, there: str, row: LeadSettings) -> None:
    before = stored(row)
    answer = api.post(there, {"leadNotification": True, "whenUserShareDetails": "optional"})
    assert (answer.status_code, answer.json()["message"]) == (200, CREATED)
    after = stored(row)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"lead_notification", "updated_at"}
    assert LeadSettings.objects.count() == 1


@pytest.mark.proves("Lead settings/read")
def test_the_record_is_returned(api: Api, there: str, row: LeadSettings) -> None:
    answer = api.get(there)
    assert (answer.status_code, answer.json()["message"]) == (200, "success")
    check(answer.json()["data"], LEAD_SETTINGS)
    assert answer.json()["data"]["industryTemplate"] == "old"


@pytest.mark.proves("Lead settings/delete")
def test_a_deletion_returns_the_deleted_record(api: Api, there: str, row: LeadSettings) -> None:
    before = api.get(there).json()["data"]
    answer = api.delete(there)
    assert answer.status_code == 200
    assert answer.json()["message"] == "lead settings deleted successfully"
    assert answer.json()["data"] == before
    assert not LeadSettings.objects.exists()


def test_without_a_record_get_and_delete_are_a_404(api: Api, there: str) -> None:
    LeadSettingsFactory(chatbot__name="another")
    for answer in (api.get(there), api.delete(there)):
        assert answer.status_code == 404
        assert answer.json() == {"success": False, "message": "lead settings not found"}
    assert LeadSettings.objects.count() == 1


@pytest.mark.parametrize(
    ("addresses", "path"),
    [
        pytest.param(["a@example.com", "nonsense"], ["1"], id="not an address"),
        pytest.param(["a@"], ["0"], id="address without a domain"),
        pytest.param([""], ["0"], id="empty address"),
        pytest.param([5], ["0"], id="number"),
        pytest.param([None], ["0"], id="null"),
        pytest.param([" a@example.com"], ["0"], id="leading space"),
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


@pytest.mark.proves("Lead settings (one per chatbot)/fields", "Bodies/validation")
@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        *(({name: None}, name, None) for name in WHOLE_FIELD),
        *(({name: []}, name, None) for name in WHOLE_FIELD),
        *(({name: 5}, name, None) for name in WHOLE_FIELD),
        ({"required": "true"}, "required", "Expected boolean"),
        ({"field_name": ""}, "field_name", "Required"),
        ({"field_name": " "}, "field_name", "Required"),
        ({"field_name": "Company Name"}, "field_name", "Expected snake_case"),
        ({"field_name": "companyName"}, "field_name", "Expected snake_case"),
        ({"field_name": "x" * 256}, "field_name", None),
        ({"field_type": "date"}, "field_type", "Expected one of the documented values"),
        ({"field_type": "TEXT"}, "field_type", None),
        ({"field_type": ""}, "field_type", None),
        ({"display_label": "x" * 256}, "display_label", None),
        ({"placeholder_text": "x" * 256}, "placeholder_text", None),
        ({"options": "x" * 256}, "options", None),
    ],
)
def test_a_bad_property_of_a_form_field_is_named_by_its_path(
    api: Api, there: str, row: LeadSettings, change: Any, name: str, message: str | None
) -> None:
    before = stored(row)
    answer = api.post(there, {"customerFormField": [FIELD, WHOLE_FIELD | change]})
    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert error["path"] == ["customerFormField", "1", name]
    assert message in (None, error["message"])
    assert stored(row) == before


@pytest.mark.parametrize("name", FIELD)
def test_a_missing_property_of_a_form_field_is_named_as_required(
    api: Api, there: str, name: str
) -> None:
    broken = {key: value for key, value in WHOLE_FIELD.items() if key != name}
    assert api.post(there, {"customerFormField": [FIELD, broken]}).json()["errors"] == [
        {"path": ["customerFormField", "1", name], "message": "Required"}
    ]


def test_a_form_field_must_be_an_object(api: Api, there: str) -> None:
    for value in ("x", 5, None, [], True):
        answer = api.post(there, {"customerFormField": [value]})
        assert answer.json()["errors"] == [
            {"path": ["customerFormField", "0"], "message": "Expected object"}
        ]


@pytest.mark.proves("Lead settings (one per chatbot)/fields")
@pytest.mark.parametrize("field_type", ["text", "textarea", "email", "phone"])
def test_only_documented_properties_are_stored(api: Api, there: str, field_type: str) -> None:
    given = FIELD | {"field_type": field_type, "display_label": "", "displayLabel": "x", "more": 1}
    [kept] = api.post(there, {"customerFormField": [given]}).json()["data"]["customerFormField"]
    assert kept == FIELD | {"field_type": field_type, "display_label": ""}


FIELDS = {
    **{field: FLAG for field in settable(LEAD_SETTINGS) if LEAD_SETTINGS[field] is bool},
    **{field: text(255) for field in settable(LEAD_SETTINGS) if LEAD_SETTINGS[field] is str},
    "customerTriggerKeywords": text(65_535),
    "leadNotificationEmail": Kind([[], ["a@example.com"] * 50], ["x", 5, True, None, {}]),
    "customerFormField": Kind([[], [FIELD] * 50], ["x", 5, None, {}, [FIELD] * 51]),
}


def test_every_field_is_checked_and_stored(api: Api, there: str, row: LeadSettings) -> None:
    assert sorted(FIELDS) == sorted(settable(LEAD_SETTINGS))
    check_fields(api.post, there, FIELDS, lambda: stored(row))
