from typing import Any

import pytest

from chatbots.models import Appearance, Chatbot
from tests.chatbots.conftest import stored
from tests.chatbots.shapes import APPEARANCE, NOT_SETTABLE, WRONG, check, settable
from tests.conftest import Api

pytestmark = pytest.mark.proves("Appearance and localization", "Appearance")
COLORS = ["brandPrimaryColor", "brandTextColor", "brandIconBgColor", "linkColor"]
LONG = {"welcomeMessage"}
SHORT = [
    name
    for name in settable(APPEARANCE)
    if APPEARANCE[name] is str and name not in {*COLORS, *LONG}
]
put = pytest.mark.proves("Endpoints named without shape")


@pytest.fixture
def there(here: str) -> str:
    return f"{here}/appearance"


@pytest.fixture
def row(chatbot: Chatbot) -> Appearance:
    return Appearance.objects.get(chatbot=chatbot)


@pytest.mark.proves("Appearance and localization/appearance", "Appearance/record")
def test_the_appearance_is_returned(
    api: Api, there: str, chatbot: Chatbot, row: Appearance, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(4):
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
def test_every_field_can_be_set_and_is_stored(api: Api, there: str) -> None:
    values: dict[type, Any] = {
        bool: True,
        int: 7,
        str: "x ✓",
        dict: {"name": "Inter", "sizes": [1]},
    }
    body = {name: values[APPEARANCE[name]] for name in settable(APPEARANCE)}
    body |= dict.fromkeys(COLORS, "#1a2B3c")
    answer = api.put(there, body)
    assert (answer.status_code, answer.json()["message"]) == (200, "success")
    for record in (answer.json()["data"], api.get(there).json()["data"]):
        check(record, APPEARANCE)
        assert {name: record[name] for name in body} == body


@pytest.mark.proves("Endpoints named without shape/put-appearance")
@put
def test_only_provided_fields_are_changed(api: Api, there: str, row: Appearance) -> None:
    before = stored(row)
    api.put(there, {"fontSize": 20, "id": "x", "chatbotId": "x", "extra": 1})
    after = stored(row)
    changed = {name for name in after if after[name] != before[name]}
    assert (after["font_size"], changed) == (20, {"font_size", "updated_at"})


@put
@pytest.mark.parametrize("name", settable(APPEARANCE))
def test_a_wrong_type_is_named_and_nothing_changes(
    api: Api, there: str, row: Appearance, name: str
) -> None:
    before = stored(row)
    for value in WRONG[APPEARANCE[name]]:
        answer = api.put(there, {"tooltip": "other", "fontSize": 1} | {name: value})
        assert answer.status_code == 400, value
        assert [error["path"] for error in answer.json()["errors"]] == [[name]]
    assert stored(row) == before


@put
@pytest.mark.parametrize(
    ("name", "bound"), [*((name, 255) for name in SHORT), ("welcomeMessage", 65_535)]
)
def test_length_limits_count_characters(api: Api, there: str, name: str, bound: int) -> None:
    assert api.put(there, {name: "😀" * bound}).json()["data"][name] == "😀" * bound
    answer = api.put(there, {name: "x" * (bound + 1)})
    assert answer.json()["errors"] == [
        {"path": [name], "message": f"Must have at most {bound} characters"}
    ]
    assert api.put(there, {name: ""}).json()["data"][name] == ""


@pytest.mark.proves("Appearance/record")
@put
@pytest.mark.parametrize("name", COLORS)
@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("#abc", 200),
        ("#ABCDEF", 200),
        ("#012345", 200),
        ("#ab", 400),
        ("#abcd", 400),
        ("#abcdefa", 400),
        ("#abcdeg", 400),
        ("abcdef", 400),
        ("#abc\n", 400),
        ("red", 400),
        ("", 400),
        (" ", 400),
    ],
)
def test_a_color_is_rrggbb_or_rgb(api: Api, there: str, name: str, value: str, status: int) -> None:
    answer = api.put(there, {name: value})
    assert answer.status_code == status
    if status == 200:
        assert answer.json()["data"][name] == value
    else:
        assert [error["path"] for error in answer.json()["errors"]] == [[name]]


@put
def test_integers_up_to_the_maximum_of_the_database_are_accepted(api: Api, there: str) -> None:
    for value in (0, 2**31 - 1):
        assert api.put(there, {"chatHeight": value}).json()["data"]["chatHeight"] == value


@put
@pytest.mark.parametrize("number", [10**30, -(2**63) - 1, 1e300, 5e-324, -0.0, 2**64])
def test_a_number_inside_a_free_form_object_is_kept(api: Api, there: str, number: float) -> None:
    body = b'{"fontFamily": {"n": %s}}' % repr(number).encode()
    for answer in (api.put(there, body), api.get(there)):
        assert answer.status_code == 200
        assert type(number)(answer.json()["data"]["fontFamily"]["n"]) == number


def test_every_documented_field_except_the_standard_ones_is_a_setting() -> None:
    assert len(Appearance.own_fields()) == len(set(APPEARANCE) - NOT_SETTABLE)
