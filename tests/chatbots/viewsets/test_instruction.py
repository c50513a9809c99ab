import uuid
from typing import Any

import pytest

from chatbots.models import Chatbot, Instruction
from tests.chatbots.conftest import stored
from tests.chatbots.shapes import INSTRUCTION, check
from tests.conftest import Api
from tests.factories.chatbots import InstructionFactory
from tests.fields import FLAG, SHARE, check_fields, name

pytestmark = pytest.mark.proves("Instructions", "Instruction", "States and transitions")

CREATED = "instruction settings created successfully"
UPDATED = "instruction settings updated successfully"
SELECTED = "instruction found and set as active"
NEW = {"title": "Sales", "instruction": "Sell."}


@pytest.fixture
def first(chatbot: Chatbot) -> Instruction:
    return InstructionFactory(chatbot=chatbot, title="first", is_active=True)


@pytest.fixture
def second(chatbot: Chatbot) -> Instruction:
    return InstructionFactory(chatbot=chatbot, title="second")


@pytest.fixture
def there(here: str) -> str:
    return f"{here}/instructions"


@pytest.fixture
def select(there: str) -> str:
    return f"{there}/select-instruction"


def active(chatbot: Chatbot) -> list[str]:
    """Return the ids of a chatbot's active instructions."""
    rows = Instruction.objects.filter(chatbot=chatbot, is_active=True)
    return [str(key) for key in rows.values_list("pk", flat=True)]


@pytest.mark.proves("Instructions/create", "Instruction/record")
def test_an_instruction_is_created_with_its_defaults(
    api: Api, there: str, chatbot: Chatbot
) -> None:
    answer = api.post(there, NEW)
    assert (answer.status_code, answer.json()["message"]) == (200, CREATED)
    record = answer.json()["data"]
    check(record, INSTRUCTION)
    assert {name: record[name] for name in NEW} == NEW
    assert (record["chatbotId"], record["deletable"], record["isActive"]) == (
        str(chatbot.pk),
        True,
        False,
    )
    assert Instruction.objects.get(pk=record["id"]).creativity_level == 0.5


def test_title_and_instruction_are_required(api: Api, there: str) -> None:
    assert api.post(there, {}).json()["errors"] == [
        {"path": ["title"], "message": "Required"},
        {"path": ["instruction"], "message": "Required"},
    ]


@pytest.mark.proves("Instructions/update")
@pytest.mark.parametrize(
    ("body", "column"),
    [
        ({"title": "new"}, "title"),
        ({"instruction": "new"}, "instruction"),
        ({"creativityLevel": 0}, "creativity_level"),
        ({"deletable": False}, "deletable"),
        ({"isActive": True}, "is_active"),
    ],
)
def test_only_provided_fields_are_changed(
    api: Api, there: str, second: Instruction, body: dict[str, Any], column: str
) -> None:
    before = stored(second)
    answer = api.patch(f"{there}/{second.pk}", body)
    assert (answer.status_code, answer.json()["message"]) == (200, UPDATED)
    check(answer.json()["data"], INSTRUCTION)
    after = stored(second)
    changed = {name for name in after if after[name] != before[name]} - {"version"}
    assert changed == {column, "updated_at"}
    assert [after[column]] == list(body.values())


@pytest.mark.proves("States and transitions/Instruction.isActive by writing")
def test_activating_an_instruction_deactivates_the_other_one(
    api: Api, there: str, select: str, chatbot: Chatbot, first: Instruction, second: Instruction
) -> None:
    elsewhere = InstructionFactory(is_active=True)
    before = stored(first)["updated_at"]
    assert active(chatbot) == [str(first.pk)]
    api.patch(f"{there}/{second.pk}", {"isActive": True})
    assert active(chatbot) == [str(second.pk)]
    assert stored(first)["updated_at"] > before
    made = api.post(there, NEW | {"isActive": True}).json()["data"]
    assert active(chatbot) == [made["id"]]
    api.post(select, {"instructionId": str(first.pk)})
    assert active(chatbot) == [str(first.pk)]
    api.patch(f"{there}/{first.pk}", {"isActive": False})
    assert active(chatbot) == []
    assert stored(elsewhere)["is_active"]


# select-instruction


@pytest.mark.proves(
    "Instructions/select", "States and transitions/Instruction.isActive by selection"
)
@pytest.mark.parametrize("extra", [{}, {"title": "nobody", "instruction": "x"}, {"title": ""}])
def test_an_instruction_is_selected_by_its_id(
    api: Api,
    select: str,
    chatbot: Chatbot,
    first: Instruction,
    second: Instruction,
    extra: dict[str, str],
) -> None:
    for _ in range(2):
        answer = api.post(select, {"instructionId": str(second.pk)} | extra)
        assert (answer.status_code, answer.json()["message"]) == (200, SELECTED)
        record = answer.json()["data"]
        check(record, INSTRUCTION)
        assert (record["id"], record["title"], record["isActive"]) == (
            str(second.pk),
            "second",
            True,
        )
        assert active(chatbot) == [str(second.pk)]
    assert Instruction.objects.filter(chatbot=chatbot).count() == 2


@pytest.mark.proves(
    "Instructions/select", "States and transitions/Instruction.isActive by selection"
)
@pytest.mark.parametrize("extra", [{}, {"instruction": "another text"}, {"instructionId": ""}])
def test_an_instruction_is_selected_by_its_title(
    api: Api,
    select: str,
    chatbot: Chatbot,
    first: Instruction,
    second: Instruction,
    extra: dict[str, str],
) -> None:
    InstructionFactory(chatbot=chatbot, title="second")  # a newer row with the same title
    answer = api.post(select, {"title": "second"} | extra)
    assert (answer.status_code, answer.json()["message"]) == (200, SELECTED)
    assert answer.json()["data"]["id"] == str(second.pk)
    assert active(chatbot) == [str(second.pk)]
    assert stored(second)["instruction"] == second.instruction


@pytest.mark.proves("Instructions/select")
def test_an_unknown_title_creates_an_instruction(
    api: Api, select: str, chatbot: Chatbot, first: Instruction
) -> None:
    InstructionFactory(title="Sales")  # an instruction of another chatbot
    answer = api.post(select, NEW)
    assert (answer.status_code, answer.json()["message"]) == (200, CREATED)
    record = answer.json()["data"]
    check(record, INSTRUCTION)
    assert record | NEW | {"isActive": True, "deletable": True} == record
    assert active(chatbot) == [record["id"]]
    assert Instruction.objects.get(pk=record["id"]).creativity_level == 0.5


@pytest.mark.parametrize(
    ("body", "path"),
    [
        pytest.param({}, ["title"], id="empty body"),
        pytest.param({"instruction": "Sell."}, ["title"], id="only an instruction"),
        pytest.param({"title": "", "instruction": "Sell."}, ["title"], id="empty title"),
        pytest.param({"title": " ", "instruction": "Sell."}, ["title"], id="blank title"),
        pytest.param(
            {"title": "Sales"}, ["instruction"], id="unknown title without an instruction"
        ),
        pytest.param(
            {"title": "Sales", "instruction": " "},
            ["instruction"],
            id="unknown title with a blank instruction",
        ),
        pytest.param({"title": 5}, ["title"], id="number as title"),
        pytest.param({"title": "x" * 101, "instruction": "x"}, ["title"], id="title too long"),
        pytest.param({"title": None}, ["title"], id="null title"),
        pytest.param({"instructionId": 5}, ["instructionId"], id="number as id"),
        pytest.param({"instructionId": None}, ["instructionId"], id="null id"),
        pytest.param(
            {"title": "Sales", "instruction": 5}, ["instruction"], id="number as instruction"
        ),
    ],
)
def test_an_invalid_selection_is_named_and_nothing_changes(
    api: Api, select: str, chatbot: Chatbot, first: Instruction, body: Any, path: list[str]
) -> None:
    answer = api.post(select, body)
    assert (answer.status_code, [e["path"] for e in answer.json()["errors"]]) == (400, [path])
    assert active(chatbot) == [str(first.pk)]
    assert Instruction.objects.filter(chatbot=chatbot).count() == 1


def test_an_unknown_id_is_a_404_whatever_else_is_given(
    api: Api, select: str, chatbot: Chatbot, first: Instruction
) -> None:
    foreign = InstructionFactory()
    for key in (str(uuid.uuid4()), "nonsense", str(foreign.pk)):
        answer = api.post(select, {"instructionId": key, **NEW})
        assert (answer.status_code, answer.json()["message"]) == (404, "instruction not found")
    assert active(chatbot) == [str(first.pk)]
    assert not stored(foreign)["is_active"]
    assert Instruction.objects.filter(chatbot=chatbot).count() == 1


FIELDS = {
    "title": name(100),
    "instruction": name(65_535),
    "creativityLevel": SHARE,
    "deletable": FLAG,
    "isActive": FLAG,
}


def test_every_field_is_checked_and_stored(
    api: Api, there: str, chatbot: Chatbot, first: Instruction
) -> None:
    rows = Instruction.objects.filter(chatbot=chatbot).values()
    check_fields(api.post, there, FIELDS, lambda: list(rows.all()))
    check_fields(api.patch, f"{there}/{first.pk}", FIELDS, lambda: stored(first))
