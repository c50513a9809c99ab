"""Pruning keeps every version that a reply's origin refers to, however often texts change."""

from typing import Any

import pytest
from django.db import connection

from chatbots.models import Chatbot, Instruction, Persona, Version, version
from chatbots.services import general_settings
from chatbots.services import instruction as instructions
from chatbots.services import persona as personas
from conversations.models import Message
from conversations.models.message import MessageType
from conversations.services import reply_origin
from tests.conversations.conftest import Send
from tests.factories.chatbots import InstructionFactory, PersonaFactory
from tests.servers.model import ModelServer, replying

pytestmark = pytest.mark.django_db


def asked_and_rebuilt(asked: ModelServer) -> tuple[list[Any], list[Any]]:
    """Return two sorted lists: the prompts that the model received, and the rebuilt prompts."""
    sent = [question["messages"] for question in asked.questions]
    replies = Message.objects.filter(message_type=MessageType.AI_MESSAGE)
    rebuilt = [
        [{"role": turn.role, "content": turn.content} for turn in reply_origin.rebuild(reply)]
        for reply in replies.select_related("origin", "parent_message")
    ]
    return sorted(sent, key=str), sorted(rebuilt, key=str)


def change(chatbot: Chatbot, row: Instruction, persona: Persona, text: str) -> None:
    """Change every kind of text that a prompt is built from."""
    instructions.update(chatbot.pk, row.pk, {"instruction": text})
    personas.update(chatbot.pk, persona.pk, {"description": text})
    general_settings.change(chatbot.pk, {"description": text})


@pytest.fixture
def one_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pruning keep only current versions and versions that replies have used."""
    monkeypatch.setattr(version, "NEWEST_KEPT", 1)


@pytest.mark.usefixtures("one_kept")
@pytest.mark.django_db(transaction=True)
def test_a_version_in_use_is_kept_while_the_model_replies(
    asked: ModelServer, send: Send, chatbot: Chatbot
) -> None:
    row = InstructionFactory(chatbot=chatbot, is_active=True)
    persona = PersonaFactory(chatbot=chatbot)

    def reply(_: Any) -> str:
        for number in range(3):
            change(chatbot, row, persona, f"Text {number}")
        connection.close()  # this runs in the model server's thread, on its own connection
        return "answered"

    asked.say(replying(reply))
    assert send()[1]["content"] == "answered"
    sent, rebuilt = asked_and_rebuilt(asked)
    assert rebuilt == sent
    kept = Version.objects.filter(row_id=row.pk).order_by("number")
    assert list(kept.values_list("number", flat=True)) == [1, 4]
