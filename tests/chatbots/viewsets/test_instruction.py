import uuid
from typing import Any

import pytest

from chatbots.models import Chatbot, Instruction
from tests.conftest import Api
from tests.factories.chatbots import InstructionFactory
from tests.fields import stored

pytestmark = pytest.mark.proves("Instructions", "Instruction", "States and transitions")

CREATED = "instruction settings created successfully"
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


@pytest.mark.proves("Instructions/create")
def test_an_instruction_is_created_with_its_defaults(
    api: Api, there: str, chatbot: Chatbot
) -> None:
    answer = api.post(there, NEW)
    assert (answer.status_code, answer.json()["message"]) == (200, CREATED)
    record = answer.json()["data"]
    assert {name: record[name] for name in NEW} == NEW
    assert (record["deletable"], record["isActive"]) == (True, False)
    assert Instruction.objects.get(pk=record["id"]).chatbot == chatbot
    assert Instruction.objects.get(pk=record["id"]).creativity_level == 0.5


def test_title_and_instruction_are_required(api: Api, there: str) -> None:
    assert api.post(there, {}).json()["errors"] == [
        {"path": ["title"], "message": "Required"},
        {"path": ["instruction"], "message": "Required"},
    ]


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
@pytest.mark.parametrize(
    "body",
    [
        {"instructionId": "{second}"},
        {"instructionId": "{second}", "title": "unknown", "instruction": "x"},
        {"instructionId": "{second}", "title": ""},
        {"title": "second"},
        {"title": "second", "instruction": "another text"},
        {"title": "second", "instructionId": ""},
    ],
)
def test_an_instruction_is_selected_by_its_id_or_else_by_its_title(
    api: Api,
    select: str,
    chatbot: Chatbot,
    first: Instruction,
    second: Instruction,
    body: dict[str, str],
) -> None:
    InstructionFactory(chatbot=chatbot, title="second")  # a newer row with the same title
    for _ in range(2):
        given = {name: text.format(second=second.pk) for name, text in body.items()}
        answer = api.post(select, given)
        assert (answer.status_code, answer.json()["message"]) == (200, SELECTED)
        record = answer.json()["data"]
        assert (record["id"], record["isActive"]) == (str(second.pk), True)
        assert active(chatbot) == [str(second.pk)]
    assert stored(second)["instruction"] == second.instruction
    assert Instruction.objects.filter(chatbot=chatbot).count() == 3


@pytest.mark.proves("Instructions/select")
def test_an_unknown_title_creates_an_instruction(
    api: Api, select: str, chatbot: Chatbot, first: Instruction
) -> None:
    InstructionFactory(title="Sales")  # an instruction of another chatbot
    answer = api.post(select, NEW)
    assert (answer.status_code, answer.json()["message"]) == (200, CREATED)
    record = answer.json()["data"]
    assert record | NEW | {"isActive": True, "deletable": True} == record
    assert active(chatbot) == [record["id"]]
    assert Instruction.objects.get(pk=record["id"]).creativity_level == 0.5


@pytest.mark.parametrize(
    ("body", "name"),
    [
        *(({"instruction": "x"} | body, "title") for body in ({}, {"title": ""}, {"title": " "})),
        *(({"title": title}, "title") for title in (5, None, "x" * 101)),
        ({"title": "Sales"}, "instruction"),  # an unknown title
        *(({"title": "Sales", "instruction": text}, "instruction") for text in (" ", 5)),
        *(({"instructionId": key}, "instructionId") for key in (5, None)),
    ],
)
def test_an_invalid_selection_is_named_and_nothing_changes(
    api: Api, select: str, chatbot: Chatbot, first: Instruction, body: Any, name: str
) -> None:
    answer = api.post(select, body)
    assert (answer.status_code, [e["path"] for e in answer.json()["errors"]]) == (400, [[name]])
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
