"""Rules that hold when several instructions are activated concurrently."""

from functools import partial

import pytest

from chatbots.models import Chatbot, Instruction
from chatbots.services import instruction as instructions
from config.api.errors import NotFound
from tests.chatbots.conftest import at_once
from tests.conftest import Api
from tests.factories.chatbots import InstructionFactory

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.proves("Instructions", "States and transitions"),
]


def active(chatbot: Chatbot) -> int:
    return Instruction.objects.filter(chatbot=chatbot, is_active=True).count()


def test_concurrent_selections_leave_exactly_one_instruction_active(
    api: Api, here: str, chatbot: Chatbot
) -> None:
    rows = InstructionFactory.create_batch(6, chatbot=chatbot)
    there = f"{here}/instructions"
    calls = [
        *(partial(api.post, f"{there}/select-instruction", {"title": row.title}) for row in rows),
        *(partial(api.patch, f"{there}/{row.pk}", {"isActive": True}) for row in rows),
        *(
            partial(api.post, there, {"title": f"{n}", "instruction": "x", "isActive": True})
            for n in range(4)
        ),
    ]
    answers = at_once(calls)
    assert {answer.status_code for answer in answers} == {200}
    assert all(answer.json()["data"]["isActive"] for answer in answers)
    assert active(chatbot) == 1


def test_an_instruction_is_activated_only_in_its_own_chatbot(chatbot: Chatbot) -> None:
    elsewhere = InstructionFactory()
    with pytest.raises(NotFound):
        instructions.activate(chatbot.pk, elsewhere.pk)
    elsewhere.refresh_from_db()
    assert not elsewhere.is_active
