import pytest

from chatbots.models import Appearance, Chatbot
from tests.chatbots.conftest import stored
from tests.chatbots.shapes import APPEARANCE, NOT_SETTABLE, check, settable
from tests.conftest import Api
from tests.fields import COLOR, COUNT, FLAG, OBJECT, check_fields, text

pytestmark = pytest.mark.proves("Appearance and localization", "Appearance")
COLORS = ["brandPrimaryColor", "brandTextColor", "brandIconBgColor", "linkColor"]
put = pytest.mark.proves("Endpoints named without shape")


@pytest.fixture
def there(here: str) -> str:
    return f"{here}/appearance"


@pytest.fixture
def row(chatbot: Chatbot) -> Appearance:
    return Appearance.objects.get(chatbot=chatbot)


@pytest.mark.proves("Appearance and localization/appearance", "Appearance/record")
def test_the_appearance_is_returned(
    api: Api, there: str, chatbot: Chatbot, row: Appearance
) -> None:
    answer = api.get(there)
    assert (answer.status_code, answer.json()["message"]) == (200, "success")
    record = answer.json()["data"]
    check(record, APPEARANCE)
    assert (record["id"], record["chatbotId"]) == (str(row.pk), str(chatbot.pk))
    assert all(record[name].startswith("#") for name in COLORS)


def test_a_missing_row_is_created_on_demand(api: Api, there: str, row: Appearance) -> None:
    row.delete()
    first, second = (api.get(there).json()["data"] for _ in range(2))
    check(first, APPEARANCE)
    assert first["id"] == second["id"]


@pytest.mark.proves("Endpoints named without shape/put-appearance")
@put
def test_only_provided_fields_are_changed(api: Api, there: str, row: Appearance) -> None:
    before = stored(row)
    api.put(there, {"fontSize": 20, "id": "x", "chatbotId": "x", "extra": 1})
    after = stored(row)
    changed = {name for name in after if after[name] != before[name]}
    assert (after["font_size"], changed) == (20, {"font_size", "updated_at"})


@put
@pytest.mark.parametrize("number", [10**30, -(2**63) - 1, 1e300, 5e-324, -0.0, 2**64])
def test_a_number_inside_a_free_form_object_is_kept(api: Api, there: str, number: float) -> None:
    body = b'{"fontFamily": {"n": %s}}' % repr(number).encode()
    for answer in (api.put(there, body), api.get(there)):
        assert answer.status_code == 200
        assert type(number)(answer.json()["data"]["fontFamily"]["n"]) == number


def test_every_documented_field_except_the_standard_ones_is_a_setting() -> None:
    assert len(Appearance.own_fields()) == len(set(APPEARANCE) - NOT_SETTABLE)


FIELDS = {
    **{field: text(255) for field in settable(APPEARANCE) if APPEARANCE[field] is str},
    **{field: FLAG for field in settable(APPEARANCE) if APPEARANCE[field] is bool},
    **{field: COUNT for field in settable(APPEARANCE) if APPEARANCE[field] is int},
    **dict.fromkeys(COLORS, COLOR),
    "welcomeMessage": text(65_535),
    "fontFamily": OBJECT,
}


@pytest.mark.proves("Endpoints named without shape/put-appearance", "Appearance/record")
@put
def test_every_field_is_checked_and_stored(api: Api, there: str, row: Appearance) -> None:
    assert sorted(FIELDS) == sorted(settable(APPEARANCE))
    check_fields(api.put, there, FIELDS, lambda: stored(row))
    check(api.get(there).json()["data"], APPEARANCE)
